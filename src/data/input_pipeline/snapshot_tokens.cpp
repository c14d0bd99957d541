#include "data/input_pipeline/snapshot_tokens.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "base/error.h"
#include "data/input_pipeline/snapshot_folder.h"

namespace smelt::data {
namespace {

constexpr std::size_t kReadBytes = 1 << 20;
constexpr std::size_t kFirstBytes = 256;  // enough for the record of a scalar

// The records of one shard, which may be in several files.
struct ScalarShard {
  std::size_t part = 0;                // index of its first file
  std::vector<std::uint64_t> ends{0};  // number of elements up to the end of each file
  std::uint64_t size() const { return ends.back(); }
};

// Returns how many of the first `taken` elements come from each shard in round-robin order.
std::vector<std::uint64_t> taken_in_turn(const std::vector<ScalarShard>& shards,
                                         std::uint64_t taken) {
  const auto in_rounds = [&](std::uint64_t rounds) {
    std::uint64_t sum = 0;
    for (const ScalarShard& shard : shards) sum += std::min(shard.size(), rounds);
    return sum;
  };
  // Binary search for the largest number of complete rounds that take at most `taken` elements.
  std::uint64_t rounds = 0, beyond = taken + 1;
  while (beyond - rounds > 1) {
    const std::uint64_t middle = rounds + (beyond - rounds) / 2;
    (in_rounds(middle) <= taken ? rounds : beyond) = middle;
  }
  std::uint64_t left = taken - in_rounds(rounds);
  std::vector<std::uint64_t> out;
  for (const ScalarShard& shard : shards) {
    const bool more = shard.size() > rounds && left > 0;
    left -= more ? 1 : 0;
    out.push_back(std::min(shard.size(), rounds) + (more ? 1 : 0));
  }
  return out;
}

// A snapshot of scalars. Its records have equal lengths and are read directly from the files.
class ScalarSnapshot : public TokenFile {
 public:
  // Opens the snapshot, or returns null if it is compressed or its elements are not scalars. Throws
  // UsageError if it is truncated.
  static std::unique_ptr<TokenFile> open(const SnapshotFolder& folder) {
    auto out = std::unique_ptr<ScalarSnapshot>(new ScalarSnapshot(folder.metadata.type));
    for (const auto& files : folder.shards) {
      out->shards_.push_back({.part = out->parts_.size()});
      for (const std::string& file : files)
        if (!out->add(file)) return nullptr;
    }
    for (const ScalarShard& shard : out->shards_) out->size_ += shard.size();
    if (out->cut_ || out->size_ != folder.metadata.elements.value_or(out->size_)) {
      read_whole(folder);  // throws an error that names the missing part
      return nullptr;
    }
    return out;
  }

  void read(const Open& open, std::uint64_t first, std::span<std::int32_t> out) const override {
    const auto next = taken_in_turn(shards_, first);
    const auto last = taken_in_turn(shards_, first + out.size());
    std::vector<std::vector<std::int32_t>> ids(shards_.size());
    for (std::size_t shard = 0; shard < ids.size(); ++shard)
      ids[shard] = read_shard(open, shards_[shard], next[shard], last[shard]);
    if (ids.size() == 1) {
      std::ranges::copy(ids.front(), out.begin());
      return;
    }
    take_in_turn(ids, next, out);
  }

 private:
  explicit ScalarSnapshot(io::SnapshotType type) : type_(type) {}

  static void read_whole(const SnapshotFolder& folder) {
    SnapshotReader reader(folder);
    for (std::vector<std::int32_t> ids; reader.next(ids);) ids.clear();
  }

  // Takes ids round-robin, from each shard's element next[shard] on.
  static void take_in_turn(const std::vector<std::vector<std::int32_t>>& ids,
                           std::vector<std::uint64_t> next, std::span<std::int32_t> out) {
    std::uint64_t round = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t shard = 0; shard < ids.size(); ++shard)
      if (!ids[shard].empty()) round = std::min(round, next[shard]);
    std::vector<std::size_t> used(ids.size());
    for (; !out.empty(); ++round)
      for (std::size_t shard = 0; shard < ids.size(); ++shard) {
        if (next[shard] != round || used[shard] == ids[shard].size()) continue;
        out.front() = ids[shard][used[shard]++];
        out = out.subspan(1);
        ++next[shard];
      }
  }

  // Adds a file. Returns false if its format differs.
  bool add(const std::string& path) {
    const io::RandomAccessFile file(path);
    std::string head(std::min<std::uint64_t>(file.size(), kFirstBytes), '\0');
    head.resize(file.read_at(0, head));
    io::check_snapshot_packing(head, path);
    const bool packed = head.starts_with("\x1f\x8b") && !io::begins_record(head);
    if (packed || !is_scalar(head, file)) return false;
    cut_ = cut_ || file.size() % record_bytes_ != 0;
    parts_.push_back(path);
    auto& ends = shards_.back().ends;
    ends.push_back(ends.back() + file.size() / record_bytes_);
    return true;
  }

  // Returns whether the first record is a scalar. True for an empty file.
  bool is_scalar(std::string_view head, const io::RandomAccessFile& file) {
    if (head.empty()) {
      record_bytes_ = std::max<std::size_t>(record_bytes_, 1);
      return true;
    }
    const io::RecordPlace place{file.path(), 0};
    const std::uint64_t length =
        io::parse_record_header(head.substr(0, io::kRecordHeaderBytes), file.size(), place);
    const std::uint64_t size = io::kRecordHeaderBytes + length + io::kRecordFooterBytes;
    if (size > head.size() || (record_bytes_ > 1 && record_bytes_ != size)) return false;
    record_bytes_ = size;
    std::vector<std::int32_t> ids;
    io::TokenTensors tensors(type_);
    tensors.append(io::parse_record(head, size, place), place, ids);
    return tensors.scalar();
  }

  // Reads the elements [first, last) of a shard.
  std::vector<std::int32_t> read_shard(const Open& open, const ScalarShard& shard,
                                       std::uint64_t first, std::uint64_t last) const {
    std::vector<std::int32_t> ids;
    ids.reserve(last - first);
    io::TokenTensors tensors(type_);
    std::string bytes;
    while (first < last) {
      const auto end = std::ranges::upper_bound(shard.ends, first);
      const auto file = static_cast<std::size_t>(end - shard.ends.begin()) - 1;
      const std::uint64_t in_file = first - shard.ends[file];
      const std::uint64_t count =
          std::min({last, *end, first + std::max<std::uint64_t>(1, kReadBytes / record_bytes_)}) -
          first;
      const auto opened = open(shard.part + file);
      bytes.resize(count * record_bytes_);
      bytes.resize(opened->read_at(in_file * record_bytes_, bytes));
      append_records(bytes, {opened->path(), in_file * record_bytes_}, count, tensors, ids);
      first += count;
    }
    return ids;
  }

  void append_records(std::string_view bytes, io::RecordPlace place, std::uint64_t count,
                      io::TokenTensors& tensors, std::vector<std::int32_t>& ids) const {
    std::string_view header;  // of the previous, verified record
    for (; count > 0; --count) {
      const bool same = bytes.size() >= record_bytes_ && !header.empty() &&
                        bytes.substr(0, io::kRecordHeaderBytes) == header;
      const std::string_view data =
          same ? io::check_record_data(
                     bytes.substr(io::kRecordHeaderBytes, record_bytes_ - io::kRecordHeaderBytes),
                     place)
               : io::parse_record(bytes, record_bytes_, place);
      header = bytes.substr(0, io::kRecordHeaderBytes);
      tensors.append(data, place, ids);
      if (!tensors.scalar())
        throw UsageError(str(place.file, ": record at offset ", place.offset,
                             ": a list of tokens among scalars"),
                         "save only scalars or only lists");
      bytes.remove_prefix(record_bytes_);
      place.offset += record_bytes_;
    }
  }

  io::SnapshotType type_;
  std::size_t record_bytes_ = 0;
  bool cut_ = false;
  std::vector<ScalarShard> shards_;
};

// A snapshot decoded into memory.
class DecodedSnapshot : public TokenFile {
 public:
  DecodedSnapshot(SnapshotFolder folder, TokenMemory& memory) {
    SnapshotReader reader(std::move(folder));
    std::vector<std::int32_t> ids;
    for (bool more = true; more;) {
      ids.clear();
      while (ids.size() < kReadBytes && (more = reader.next(ids))) {
      }
      if (!memory.take(ids.size() * (wide_.empty() ? 2 : 4)) || !append(ids, memory))
        throw UsageError(str(reader.folder().path,
                             ": compressed snapshots and snapshots of lists are read into memory, "
                             "but this one exceeds the memory limit"),
                         "convert it to a token store with `smelt data convert`");
    }
    size_ = narrow_.size() + wide_.size();
  }

  void read(const Open& /*open*/, std::uint64_t first, std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = wide_.empty() ? narrow_[first + i] : wide_[first + i];
  }

 private:
  bool append(const std::vector<std::int32_t>& ids, TokenMemory& memory) {
    const bool fits = std::ranges::all_of(
        ids, [](std::int32_t id) { return id <= std::numeric_limits<std::uint16_t>::max(); });
    if (wide_.empty() && fits) {
      narrow_.insert(narrow_.end(), ids.begin(), ids.end());
      return true;
    }
    if (wide_.empty() && !memory.take((narrow_.size() + ids.size()) * 2)) return false;
    for (; !narrow_.empty(); narrow_.pop_front()) wide_.push_back(narrow_.front());
    wide_.insert(wide_.end(), ids.begin(), ids.end());
    return true;
  }

  // Deques grow without copying.
  std::deque<std::uint16_t> narrow_;
  std::deque<std::int32_t> wide_;  // used instead of narrow_ once an id does not fit in 16 bits
};

}  // namespace

std::unique_ptr<TokenFile> open_snapshot_tokens(const std::string& path, TokenMemory& memory) {
  SnapshotFolder folder = open_snapshot(path);
  if (auto scalars = ScalarSnapshot::open(folder)) return scalars;
  return std::make_unique<DecodedSnapshot>(std::move(folder), memory);
}

}  // namespace smelt::data
