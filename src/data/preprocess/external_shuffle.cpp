#include "data/preprocess/external_shuffle.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/parallel.h"
#include "data/preprocess/id_codec.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"

namespace smelt::data {
namespace {

__extension__ using Wide = unsigned __int128;
constexpr std::string_view kHint = "remove its folder and run again";

}  // namespace

SpillRecord take_record(std::string_view& records) {
  SpillRecord record{.key = take_value<std::uint64_t>(records), .bytes = {}};
  const auto size = take_value<std::uint32_t>(records);
  CHECK(size <= records.size());
  record.bytes = records.substr(0, size);
  records.remove_prefix(size);
  return record;
}

SpillFile::SpillFile(std::string path)
    : path_(std::move(path)),
      descriptor_(
          ::open(path_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0) throw_errno("make", path_, errno);
}

SpillFile::SpillFile(std::string path, std::uint64_t size)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)),
      size_(size) {
  if (descriptor_ < 0) throw_errno("open", path_, errno);
  if (const std::uint64_t held = io::file_size(path_); held < size)
    throw UsageError(str(path_, ": damaged: ", held, " bytes, not ", size), kHint);
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) throw_errno("cut", path_, errno);
}

SpillFile::~SpillFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t SpillFile::append(std::string_view bytes) {
  const std::uint64_t offset = size_.fetch_add(bytes.size());
  for (std::uint64_t at = offset; !bytes.empty();) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_errno("write", path_, errno);
    at += static_cast<std::uint64_t>(count);
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return offset;
}

void SpillFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_errno("close", path_, errno);
}

SpillWriter::SpillWriter(SpillFile& file, const std::vector<std::uint64_t>& first_keys,
                         std::size_t chunk_bytes)
    : file_(file), first_keys_(first_keys), chunk_bytes_(chunk_bytes), buckets_(first_keys.size()) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i].range.first_key = first_keys_[i];
}

SpillWriter::SpillWriter(SpillFile& file, const std::vector<SpillRange>& ranges,
                         std::size_t chunk_bytes)
    : file_(file), chunk_bytes_(chunk_bytes), buckets_(ranges.size()) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    first_keys_.push_back(ranges[i].first_key);
    buckets_[i].range = ranges[i];
  }
}

void SpillWriter::append(std::uint64_t key, std::string_view record) {
  const auto next = std::ranges::upper_bound(first_keys_, key);
  Bucket& bucket = buckets_[static_cast<std::size_t>(next - first_keys_.begin()) - 1];
  const std::size_t size = kSpillRecordHead + record.size();
  const std::lock_guard lock(bucket.mutex);
  std::string& chunk = bucket.chunk;
  if (!chunk.empty() && chunk.size() + size > chunk_bytes_) write(bucket);
  if (chunk.empty()) {
    chunk.reserve(std::max(chunk_bytes_, sizeof(SpillLink) + size));
    chunk.resize(sizeof(SpillLink));
  }
  put_value(key, chunk);
  put_value(static_cast<std::uint32_t>(record.size()), chunk);
  chunk += record;
  bucket.range.bytes += size;
  ++bucket.range.records;
}

void SpillWriter::write(Bucket& bucket) {
  std::string& chunk = bucket.chunk;
  std::memcpy(chunk.data(), &bucket.range.last, sizeof(SpillLink));
  CHECK(std::in_range<std::uint32_t>(chunk.size()), chunk.size());
  bucket.range.last = {.offset = file_.append(chunk),
                       .size = static_cast<std::uint32_t>(chunk.size()),
                       .crc32c = io::crc32c(chunk)};
  if (chunk.capacity() > 2 * chunk_bytes_) std::string().swap(chunk);
  chunk.clear();
}

std::vector<SpillRange> SpillWriter::flush() {
  std::vector<SpillRange> ranges;
  ranges.reserve(buckets_.size());
  for (Bucket& bucket : buckets_) {
    if (!bucket.chunk.empty()) write(bucket);
    ranges.push_back(bucket.range);
  }
  return ranges;
}

std::uint64_t SpillWriter::bytes() const {
  std::uint64_t sum = 0;
  for (const Bucket& bucket : buckets_) sum += bucket.range.bytes;
  return sum;
}

std::vector<SpillRange> SpillWriter::finish() {
  std::vector<SpillRange> ranges = flush();
  std::vector<Bucket>().swap(buckets_);
  return ranges;
}

ExternalShuffle::ExternalShuffle(const std::string& file, std::vector<SpillRange> ranges)
    : ranges_(std::move(ranges)) {
  files_.push_back(std::make_shared<io::RandomAccessFile>(file));
}

std::uint64_t ExternalShuffle::bytes() const {
  std::uint64_t sum = 0;
  for (const SpillRange& range : ranges_) sum += range.bytes;
  return sum;
}

void ExternalShuffle::save(const std::string& list) const {
  const std::string_view ranges(reinterpret_cast<const char*>(ranges_.data()),
                                ranges_.size() * sizeof(SpillRange));
  Json head{{"crc32c", io::crc32c(ranges, io::crc32c(note_.dump()))},
            {"files", Json::array()},
            {"note", note_}};
  for (const auto& file : files_) head["files"].push_back(file ? io::path_name(file->path()) : "");
  io::write_file(list, str(head.dump(), "\n", ranges));
}

ExternalShuffle ExternalShuffle::load(const std::string& list) {
  const std::string bytes = io::read_file(list);
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  const auto ranges = std::string_view(bytes).substr(std::min(bytes.size(), end + 1));
  const auto head = Json::parse_or_discard(bytes.substr(0, end));
  const Json note = head.is_object() ? head.value("note", Json()) : head;
  if (!head.is_object() ||
      head.value("crc32c", 0u) != io::crc32c(ranges, io::crc32c(note.dump())) ||
      ranges.size() % sizeof(SpillRange) != 0)
    throw UsageError(str(list, ": damaged"), kHint);
  ExternalShuffle spill;
  spill.note_ = note;
  const std::string folder = io::parent_path(list);
  for (const std::string name : head["files"])
    spill.files_.push_back(
        name.empty() ? nullptr
                     : std::make_shared<io::RandomAccessFile>(io::join_path(folder, name)));
  spill.ranges_.resize(ranges.size() / sizeof(SpillRange));
  std::memcpy(spill.ranges_.data(), ranges.data(), ranges.size());
  return spill;
}

void ExternalShuffle::read(const SpillRange& range,
                           const std::function<void(std::string)>& take) const {
  for (SpillLink link = range.last; link.size > 0;) {
    const io::RandomAccessFile& file = *files_.at(range.file);
    std::string chunk(link.size, '\0');
    if (file.read_at(link.offset, chunk) != chunk.size() || io::crc32c(chunk) != link.crc32c)
      throw UsageError(str(file.path(), ": damaged at byte ", link.offset), kHint);
    std::memcpy(&link, chunk.data(), sizeof link);
    take(std::move(chunk));
  }
}

std::uint64_t ExternalShuffle::last_key(std::size_t range) const {
  return range + 1 < ranges_.size() ? ranges_[range + 1].first_key - 1 : kLastKey;
}

std::vector<std::size_t> ExternalShuffle::find_large(std::uint64_t limit) const {
  std::vector<std::size_t> large;
  for (std::size_t i = 0; i < ranges_.size(); ++i)
    if (ranges_[i].bytes > limit && ranges_[i].records > 1 && ranges_[i].first_key < last_key(i))
      large.push_back(i);
  return large;
}

void ExternalShuffle::split(const SplitOptions& o) {
  const std::size_t buffers = std::max<std::size_t>(1, o.memory / (o.fan_out * o.least_chunk));
  const auto threads = std::min(static_cast<std::size_t>(o.threads), buffers);
  const std::size_t chunk = std::clamp(o.memory / threads / o.fan_out, o.least_chunk, o.most_chunk);
  while (true) {
    const std::vector<std::size_t> large = find_large(o.limit);
    if (large.empty()) return;
    SpillFile file(str(o.folder, "/", o.name, "-", files_.size() + 1));
    std::vector<std::vector<SpillRange>> parts(ranges_.size());
    std::atomic<std::size_t> next = 0;
    run_parallel(static_cast<int>(threads), [&](int) {
      for (std::size_t i; (i = next++) < large.size();) {
        const SpillRange& range = ranges_[large[i]];
        const std::size_t wanted =
            std::clamp<std::uint64_t>(2 * range.bytes / o.limit, 2, o.fan_out);
        SpillWriter writer(file, cut_keys(range.first_key, last_key(large[i]), wanted), chunk);
        read(range, [&](const std::string& bytes) {
          for (std::string_view rest = spill_records(bytes); !rest.empty();) {
            const SpillRecord record = take_record(rest);
            writer.append(record.key, record.bytes);
          }
        });
        parts[large[i]] = writer.finish();
      }
    });
    file.close();
    replace(file.path(), std::move(parts), o.list);
  }
}

void ExternalShuffle::replace(const std::string& file, std::vector<std::vector<SpillRange>> parts,
                              const std::string& list) {
  const auto number = static_cast<std::uint32_t>(files_.size());
  files_.push_back(std::make_shared<io::RandomAccessFile>(file));
  std::vector<SpillRange> ranges;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (parts[i].empty()) ranges.push_back(ranges_[i]);
    for (SpillRange& part : parts[i]) {
      part.file = number;
      ranges.push_back(part);
    }
  }
  ranges_ = std::move(ranges);
  drop_unused(list);
}

// Saves the list without the unused files first and deletes them afterwards.
void ExternalShuffle::drop_unused(const std::string& list) {
  std::vector<bool> used(files_.size());
  for (const SpillRange& range : ranges_)
    if (range.records > 0) used[range.file] = true;
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < files_.size(); ++i)
    if (files_[i] && !used[i]) {
      unused.push_back(files_[i]->path());
      files_[i].reset();
    }
  if (!list.empty()) save(list);
  for (const std::string& path : unused) io::remove_file(path);
}

void ExternalShuffle::remove() {
  ranges_.clear();
  drop_unused("");
}

void ExternalShuffle::remove_others(const std::string& folder, std::string_view name) const {
  const std::string begin = str(name, "-");
  for (const std::string& found : io::list_folder(folder)) {
    const std::string path = io::join_path(folder, found);
    const bool ours = std::ranges::any_of(
        files_, [&](const auto& file) { return file && io::path_name(file->path()) == found; });
    if (found.starts_with(begin) && !ours) io::remove_file(path);
  }
}

std::uint64_t multiply_divide(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(Wide{a} * b / c);
}

std::vector<std::uint64_t> cut_keys(std::uint64_t first, std::uint64_t last, std::size_t parts) {
  const Wide width = Wide{last} - first + 1;
  std::vector<std::uint64_t> cuts;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto cut = static_cast<std::uint64_t>(first + (width * i + parts - 1) / parts);
    if (cuts.empty() || (cut > cuts.back() && cut <= last)) cuts.push_back(cut);
  }
  return cuts;
}

}  // namespace smelt::data
