#include "io/filesystem/arrow_file.h"

#include <arrow/io/file.h>
#include <arrow/util/io_util.h>

#include <mutex>

#include "base/error.h"
#include "io/filesystem/object_store.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace {

class WatchedFile : public arrow::io::RandomAccessFile {
 public:
  explicit WatchedFile(std::shared_ptr<arrow::io::RandomAccessFile> file)
      : file_(std::move(file)) {}

  arrow::Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<std::int64_t> Tell() const override { return file_->Tell(); }
  arrow::Status Seek(std::int64_t position) override { return file_->Seek(position); }
  arrow::Result<std::int64_t> GetSize() override { return watch(file_->GetSize()); }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    return watch(file_->Read(bytes, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override {
    return watch(file_->Read(bytes));
  }
  arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t bytes, void* out) override {
    return watch(file_->ReadAt(at, bytes, out));
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at,
                                                       std::int64_t bytes) override {
    return watch(file_->ReadAt(at, bytes));
  }

 private:
  // Returns the value, or stores an I/O error in `error_`. An invalid request is not an I/O error,
  // because a damaged file can cause it.
  template <class Value>
  arrow::Result<Value> watch(arrow::Result<Value> result) {
    if (result.status().IsIOError()) {
      const std::lock_guard lock(mutex_);
      failure_ = result.status();
    }
    return result;
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  mutable std::mutex mutex_;
  arrow::Status failure_;
};

[[noreturn]] void throw_failure(std::string_view action, const std::string& path,
                                const arrow::Status& status) {
  if (is_remote(path) && !is_hub_path(path))
    throw_status(action, resolve(path), Access::read, status);
  if (const int error_number = arrow::internal::ErrnoFromStatus(status); error_number != 0)
    throw_errno(action, path, error_number);
  throw SystemError(str(action, ": ", path, ": ", status.message()));
}

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> open_watched(const std::string& path) {
  if (!is_remote(path)) return arrow::io::ReadableFile::Open(path);
  const Place place = resolve(path);
  return place.system->OpenInputFile(place.name);
}

}  // namespace

ArrowFile::ArrowFile(const std::string& path) : path_(path) {
  auto opened = open_watched(downloaded_path(path));
  if (!opened.ok()) throw_failure("open", path, opened.status());
  file_ = std::make_shared<WatchedFile>(std::move(opened).ValueUnsafe());
}

void ArrowFile::check() const {
  const arrow::Status failure = static_cast<const WatchedFile&>(*file_).failure();
  if (!failure.ok()) throw_failure("read", path_, failure);
}

}  // namespace smelt::io
