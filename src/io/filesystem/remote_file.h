// Objects on gs:// and s3://: ranged reads and atomic writes. file.h and random_access_file.h use
// these classes.
#pragma once

#include <cstdint>
#include <deque>
#include <future>
#include <span>
#include <string>
#include <string_view>

#include "io/filesystem/object_store.h"

namespace smelt {

// An object as it was when it was opened. Reads may come from several threads at once.
class RemoteFile {
 public:
  explicit RemoteFile(const std::string& path);
  // Fills `out` from `offset` on; fewer bytes only at the end.
  std::size_t read_at(std::uint64_t offset, std::span<char> out) const;
  std::uint64_t size() const { return size_; }

 private:
  void require_count(std::int64_t count, std::uint64_t want, std::uint64_t offset) const;

  Place place_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;  // of a large object
  std::uint64_t size_ = 0;
  std::string whole_;  // the bytes of a small object
};

// Reads from the start to the end in blocks; the next blocks are fetched by ranged reads on other
// threads: one at first, then two, then four, so that reading only the beginning of a file is
// cheap.
class RemoteReader {
 public:
  explicit RemoteReader(const std::string& path) : file_(path) {}
  std::size_t read(std::span<char> out);
  void seek(std::uint64_t offset);
  std::uint64_t size() const { return file_.size(); }

 private:
  void fetch_ahead();

  RemoteFile file_;
  std::string block_;  // being handed out, from used_ on
  std::size_t used_ = 0;
  std::uint64_t next_ = 0;  // where the next fetch begins
  std::size_t depth_ = 1;
  std::deque<std::future<std::string>> ahead_;  // last: its threads use file_
};

// Returns the largest object that RemoteWriter can write: on S3 10,000 parts of 10 MiB (fixed by
// Arrow), on Google's 5 TiB; for a local file 2^64 - 1.
std::uint64_t most_object_bytes(const std::string& path);

// An object that appears whole at commit(); without it the upload is never finished, and nothing is
// seen. Parts are sent on another thread while the next one is filled. S3 takes several parts at
// once; Google's resumable upload takes them one after the other, so there several files written at
// once go faster than one.
class RemoteWriter {
 public:
  explicit RemoteWriter(const std::string& path) : RemoteWriter(path, most_object_bytes(path)) {}
  RemoteWriter(const std::string& path, std::uint64_t most_bytes);
  ~RemoteWriter();
  RemoteWriter(const RemoteWriter&) = delete;
  RemoteWriter& operator=(const RemoteWriter&) = delete;
  // UsageError for more bytes than the object may have.
  void write(std::string_view bytes);
  void commit();

 private:
  void send();  // begins to send part_
  void wait();  // until the part on its way has been sent

  Place place_;
  std::shared_ptr<arrow::io::OutputStream> stream_;  // empty once committed
  std::uint64_t left_;                               // bytes that it may still get
  std::string part_, on_way_;
  std::future<arrow::Status> sending_;  // last: its thread uses on_way_
};

}  // namespace smelt
