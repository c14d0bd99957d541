#include "data/input_pipeline/snapshot_folder.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "base/error.h"
#include "io/filesystem/decompress.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

constexpr std::size_t kWindow = 1 << 18;  // decompressed bytes to buffer, except for longer records
constexpr std::uint64_t kMostRecordBytes = std::uint64_t{256} << 20;

std::vector<std::string> named(const std::string& folder, std::string_view ending) {
  std::vector<std::string> found;
  for (const std::string& name : io::list_folder(folder))
    if (name.ends_with(ending)) found.push_back(io::join_path(folder, name));
  return found;
}

// Reads the records of a file that may be compressed.
class PackedRecords {
 public:
  explicit PackedRecords(const std::string& path) : file_(path, io::begins_record) {
    if (fill(io::kRecordHeaderBytes)) io::check_snapshot_packing(rest(), path);
  }

  // Returns the data of the next record, valid until the next call; nullopt at the end.
  std::optional<std::string_view> next() {
    place_.offset += taken_;
    at_ += taken_;
    taken_ = 0;
    if (!fill(io::kRecordHeaderBytes)) {
      if (rest().empty()) return std::nullopt;
      io::parse_record_header(rest(), rest().size(),
                              place_);  // throws an error that names the missing part
    }
    const std::uint64_t length = length_of_record();
    taken_ = io::kRecordHeaderBytes + length + io::kRecordFooterBytes;
    if (!fill(taken_)) io::parse_record_header(rest(), rest().size(), place_);
    return io::check_record_data(
        rest().substr(io::kRecordHeaderBytes, length + io::kRecordFooterBytes), place_);
  }
  io::RecordPlace place() const { return place_; }

 private:
  std::string_view rest() const { return std::string_view(buffer_).substr(at_); }

  // Returns the length of the next record. Most records are as long as the previous one, whose
  // header was verified; an equal header needs no checksum.
  std::uint64_t length_of_record() {
    const std::string_view found = rest().substr(0, io::kRecordHeaderBytes);
    if (found != header_) {
      length_ = io::parse_record_header(found, std::numeric_limits<std::int64_t>::max(), place_);
      if (length_ > kMostRecordBytes)
        throw UsageError(str(place_.file, ": record at offset ", place_.offset, ": ", length_,
                             " bytes, more than the maximum of ", kMostRecordBytes),
                         "save shorter elements, such as one per document");
      header_ = found;
    }
    return length_;
  }

  // Buffers at least `size` bytes. Returns false if the file ends first.
  bool fill(std::uint64_t size) {
    while (rest().size() < size) {
      buffer_.erase(0, at_);
      at_ = 0;
      const std::size_t before = buffer_.size();
      buffer_.resize(before + kWindow);
      buffer_.resize(before + file_.read(std::span(buffer_).subspan(before)));
      if (buffer_.size() == before) return false;
    }
    return true;
  }

  io::DecompressedFile file_;
  std::string buffer_, header_;
  std::size_t at_ = 0;  // position of the record in buffer_
  std::uint64_t taken_ = 0, length_ = 0;
  io::RecordPlace place_{.file = file_.path()};
};

}  // namespace

SnapshotFolder open_snapshot(const std::string& path) {
  const std::string where = io::join_path(path, io::kSnapshotMetadata);
  SnapshotFolder out{
      .path = path,
      .metadata = io::parse_snapshot_metadata(io::read_file(where, io::kSmallFileBytes), where),
      .shards = {}};
  const std::string run = io::join_path(path, out.metadata.run);
  for (const std::string& shard : named(run, ".shard"))
    out.shards.push_back(named(shard, ".snapshot"));
  if (out.shards.empty() && out.metadata.elements)
    throw UsageError(
        str(where, ": lists ", *out.metadata.elements, " elements, but ", run, " has no shards"),
        "copy the whole folder again");
  return out;
}

class SnapshotReader::Shard {
 public:
  Shard(io::SnapshotType type, std::vector<std::string> files)
      : tensors_(type), files_(std::move(files)) {}

  bool next(std::vector<std::int32_t>& ids) {
    for (;;) {
      if (records_) {
        if (const auto record = records_->next()) {
          tensors_.append(*record, records_->place(), ids);
          return true;
        }
      }
      if (opened_ == files_.size()) return false;
      records_.emplace(files_[opened_++]);
    }
  }
  bool scalar() const { return tensors_.scalar(); }
  io::RecordPlace place() const { return records_->place(); }  // of the record that next() read

 private:
  io::TokenTensors tensors_;
  std::vector<std::string> files_;
  std::size_t opened_ = 0;
  std::optional<PackedRecords> records_;
};

SnapshotReader::SnapshotReader(SnapshotFolder folder) : folder_(std::move(folder)) {
  for (const auto& files : folder_.shards)
    shards_.push_back(std::make_unique<Shard>(folder_.metadata.type, files));
}

SnapshotReader::~SnapshotReader() = default;

bool SnapshotReader::next(std::vector<std::int32_t>& ids) {
  while (!shards_.empty()) {
    if (turn_ >= shards_.size()) turn_ = 0;
    if (shards_[turn_]->next(ids)) {
      check_rank(*shards_[turn_]);
      ++turn_;
      ++elements_;
      return true;
    }
    shards_.erase(shards_.begin() + static_cast<std::ptrdiff_t>(turn_));
  }
  check_count();
  return false;
}

void SnapshotReader::check_rank(const Shard& shard) {
  if (elements_ > 0 && shard.scalar() != scalar_)
    throw UsageError(str(shard.place().file, ": record at offset ", shard.place().offset, ": ",
                         scalar_ ? "a list of tokens among scalars" : "a scalar among lists"),
                     "save only scalars or only lists");
  scalar_ = shard.scalar();
}

void SnapshotReader::check_count() const {
  if (folder_.metadata.elements.value_or(elements_) != elements_)
    throw UsageError(str(folder_.path, ": has ", elements_, " elements, but according to ",
                         io::kSnapshotMetadata, " ", *folder_.metadata.elements),
                     "files are missing or truncated: copy the whole folder again");
}

}  // namespace smelt::data
