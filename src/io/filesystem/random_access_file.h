// Random access to a file or object that does not change meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/filesystem/descriptor.h"

namespace smelt::io {

class RemoteFile;

// An open file or object. Thread-safe.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(std::string path);  // throws UsageError if it cannot be opened

  // Reads from `offset` into `out`, with one request on an object store. Returns the number of
  // bytes, fewer than requested only at the end of the file.
  std::size_t read_at(std::uint64_t offset, std::span<char> out) const;
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor descriptor_;
  std::shared_ptr<const RemoteFile> remote_;  // used instead of descriptor_ for an object
  std::uint64_t size_ = 0;
};

}  // namespace smelt::io
