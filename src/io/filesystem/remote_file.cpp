#include "io/filesystem/remote_file.h"

#include <arrow/io/interfaces.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>

#include "base/error.h"
#include "base/parallel.h"

namespace smelt::io {
namespace {

constexpr std::size_t kBlockBytes = 4 << 20;
constexpr std::size_t kSmallBytes =
    512 << 10;  // smaller objects are held in memory; hundreds of files may be open
constexpr std::size_t kMaxDepth = 4;
// Size of the parts of an upload; must be a multiple of 256 KiB for Google.
constexpr std::size_t kPartBytes = 8 << 20;

// Abandons an upload. Closing or destroying an upload to Google publishes the object, and Arrow
// cannot cancel it, so the stream is never destroyed. The store drops an unfinished upload after a
// week.
void abandon(std::shared_ptr<arrow::io::OutputStream> stream) {
  static std::mutex mutex;
  static auto& abandoned = *new std::vector<std::shared_ptr<arrow::io::OutputStream>>;
  const std::lock_guard lock(mutex);
  abandoned.push_back(std::move(stream));
}

// Cloud Storage decompresses an object with "Content-Encoding: gzip" for clients that do not accept
// gzip, such as Arrow's, and ignores requested ranges, so neither the size nor a range of the
// content can be read. Throws UsageError for such an object.
void require_stored_form(arrow::io::RandomAccessFile& file, const Place& place) {
  if (place.path.scheme != "gs") return;
  const auto metadata = value_of(file.ReadMetadata(), "open", place, Access::read);
  const auto value = [&](const char* name) {
    return metadata == nullptr ? "" : lower_case(metadata->Get(name).ValueOr(""));
  };
  if (value("Content-Encoding").find("gzip") == std::string::npos ||
      value("Cache-Control").find("no-transform") != std::string::npos)
    return;
  const std::string object = str("gs://", place.path.bucket, "/", place.path.key);
  throw UsageError(str("open: ", object,
                       ": it is stored with Content-Encoding: gzip, so Cloud Storage decompresses "
                       "it while it is read"),
                   str("gcloud storage objects update '", object,
                       "' --clear-content-encoding: then smelt reads it as a gzip file"));
}

}  // namespace

// Arrow opens a Google object by requesting all of it. For a small object that response is the
// content. For a large one ranges are read instead; seeking to its last byte ends the response,
// which would otherwise keep a connection open.
RemoteFile::RemoteFile(const std::string& path) : place_(resolve(path)) {
  file_ = value_of(place_.system->OpenInputFile(place_.name), "open", place_, Access::read);
  require_stored_form(*file_, place_);
  size_ = static_cast<std::uint64_t>(value_of(file_->GetSize(), "open", place_, Access::read));
  if (size_ <= kSmallBytes) {
    whole_.resize(size_);
    require_count(value_of(file_->Read(static_cast<std::int64_t>(size_), whole_.data()), "read",
                           place_, Access::read),
                  size_, 0);
    file_.reset();
  } else if (const auto status = file_->Seek(static_cast<std::int64_t>(size_ - 1)); !status.ok()) {
    throw_status("read", place_, Access::read, status);
  }
}

void RemoteFile::require_count(std::int64_t count, std::uint64_t want, std::uint64_t offset) const {
  if (count == static_cast<std::int64_t>(want)) return;
  throw SystemError(str("read: ", place_.path.with_key(place_.path.key), ": received ", count,
                        " bytes at offset ", offset, ", expected ", want, " bytes"),
                    "run the command again");
}

std::size_t RemoteFile::read_at(std::uint64_t offset, std::span<char> out) const {
  if (offset >= size_) return 0;
  const std::size_t count = std::min<std::uint64_t>(out.size(), size_ - offset);
  if (file_ == nullptr) {
    std::memcpy(out.data(), whole_.data() + offset, count);
    return count;
  }
  const auto result = file_->ReadAt(static_cast<std::int64_t>(offset),
                                    static_cast<std::int64_t>(count), out.data());
  require_count(value_of(result, "read", place_, Access::read), count, offset);
  return count;
}

void RemoteReader::fetch_ahead() {
  while (ahead_.size() < depth_ && next_ < size()) {
    const std::uint64_t offset = next_;
    const std::size_t count = std::min<std::uint64_t>(kBlockBytes, size() - offset);
    ahead_.push_back(run_async([this, offset, count] {
      std::string block(count, '\0');
      file_.read_at(offset, block);
      return block;
    }));
    next_ += count;
  }
}

std::size_t RemoteReader::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (used_ == block_.size()) {
      fetch_ahead();
      if (ahead_.empty()) break;
      auto block = std::move(ahead_.front());
      ahead_.pop_front();
      depth_ = std::min(depth_ * 2, kMaxDepth);
      fetch_ahead();
      block_ = block.get();
      used_ = 0;
    }
    const std::size_t count = std::min(out.size() - done, block_.size() - used_);
    std::memcpy(out.data() + done, block_.data() + used_, count);
    used_ += count;
    done += count;
  }
  return done;
}

void RemoteReader::seek(std::uint64_t offset) {
  ahead_.clear();
  block_.clear();
  used_ = 0;
  depth_ = 1;
  next_ = offset;
}

std::uint64_t most_object_bytes(const std::string& path) {
  if (!is_remote(path)) return std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kS3Parts = 10'000, kS3PartBytes = 10 << 20;
  return parse_remote(path).scheme == "s3" ? kS3Parts * kS3PartBytes : std::uint64_t{5} << 40;
}

RemoteWriter::RemoteWriter(const std::string& path, std::uint64_t most_bytes)
    : place_(resolve(path)), left_(most_bytes) {
  stream_ = value_of(place_.system->OpenOutputStream(place_.name), "write", place_, Access::write);
}

RemoteWriter::~RemoteWriter() {
  if (stream_ == nullptr) return;
  if (sending_.valid()) sending_.wait();
  if (place_.path.scheme == "gs") {
    abandon(std::move(stream_));
    return;
  }
  // Waits for parts that are being sent, because they would arrive after the upload has ended.
  // Errors are ignored, because writing has already failed.
  static_cast<void>(stream_->Flush());
  static_cast<void>(stream_->Abort());
}

void RemoteWriter::wait() {
  if (!sending_.valid()) return;
  if (const arrow::Status status = sending_.get(); !status.ok())
    throw_status("write", place_, Access::write, status);
}

void RemoteWriter::send() {
  wait();
  // Swaps two buffers, because allocating memory for each part takes longer than sending it.
  part_.swap(on_way_);
  part_.clear();
  sending_ = run_async([stream = stream_.get(), part = std::string_view(on_way_)] {
    return stream->Write(part.data(), static_cast<std::int64_t>(part.size()));
  });
}

void RemoteWriter::write(std::string_view bytes) {
  if (bytes.size() > left_)
    throw UsageError(
        str("write: ", place_.path.with_key(place_.path.key),
            ": more bytes than the maximum size of an object that is uploaded in parts"),
        "split the data into several files, for examples with --shards");
  left_ -= bytes.size();
  while (!bytes.empty()) {
    if (part_.capacity() < kPartBytes && part_.size() + bytes.size() >= kPartBytes)
      part_.reserve(kPartBytes);
    const std::size_t count = std::min(bytes.size(), kPartBytes - part_.size());
    part_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    if (part_.size() == kPartBytes) send();
  }
}

void RemoteWriter::commit() {
  if (!part_.empty()) send();
  wait();
  if (const arrow::Status status = stream_->Close(); !status.ok())
    throw_status("write", place_, Access::write, status);
  stream_.reset();
}

}  // namespace smelt::io
