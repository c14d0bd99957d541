// Readers and writers of objects on gs:// and s3://, used by the classes of file.h and
// random_access_file.h.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <span>
#include <string>
#include <string_view>

#include "io/filesystem/object_store.h"

namespace smelt::io {

// An object, in the version that existed when it was opened. Thread-safe.
class RemoteFile {
 public:
  explicit RemoteFile(const std::string& path);
  // Reads from `offset` into `out`. Returns the number of bytes, fewer than requested only at the
  // end.
  std::size_t read_at(std::uint64_t offset, std::span<char> out) const;
  std::uint64_t size() const { return size_; }

 private:
  void require_count(std::int64_t count, std::uint64_t want, std::uint64_t offset) const;

  Place place_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;  // set for a large object
  std::uint64_t size_ = 0;
  std::string whole_;  // content of a small object
};

// Reads an object sequentially in blocks, and prefetches the next blocks on other threads. The
// number of prefetched blocks grows from one to four, so that reading only the beginning is cheap.
class RemoteReader {
 public:
  explicit RemoteReader(const std::string& path) : file_(path) {}
  std::size_t read(std::span<char> out);
  void seek(std::uint64_t offset);
  std::uint64_t size() const { return file_.size(); }

 private:
  void fetch_ahead();

  RemoteFile file_;
  std::string block_;  // current block; bytes before used_ are consumed
  std::size_t used_ = 0;
  std::uint64_t next_ = 0;  // offset of the next fetch
  std::size_t depth_ = 1;
  std::deque<std::future<std::string>> ahead_;  // declared last, because its threads use file_
};

// Returns the maximum size of an object written by RemoteWriter: 10,000 parts of 10 MiB (fixed by
// Arrow) on S3, 5 TiB on Google Cloud Storage, 2^64 - 1 for a local file.
std::uint64_t most_object_bytes(const std::string& path);

// An object that becomes visible atomically at commit(); without commit() nothing is stored. Parts
// are uploaded on another thread while the next one is filled. S3 accepts several parts in
// parallel; Google's resumable upload is sequential, so writing several files at once is faster
// there.
class RemoteWriter {
 public:
  explicit RemoteWriter(const std::string& path) : RemoteWriter(path, most_object_bytes(path)) {}
  RemoteWriter(const std::string& path, std::uint64_t most_bytes);
  ~RemoteWriter();
  RemoteWriter(const RemoteWriter&) = delete;
  RemoteWriter& operator=(const RemoteWriter&) = delete;
  // Throws UsageError if the object exceeds its maximum size.
  void write(std::string_view bytes);
  void commit();

 private:
  void send();  // starts uploading part_
  void wait();  // waits until the current upload has finished

  Place place_;
  std::shared_ptr<arrow::io::OutputStream> stream_;  // null after commit()
  std::uint64_t left_;                               // bytes until the maximum size
  std::string part_, on_way_;
  std::future<arrow::Status> sending_;  // declared last, because its thread uses on_way_
};

}  // namespace smelt::io
