// Reads anywhere in a file or object that does not change meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/filesystem/descriptor.h"

namespace smelt {

class RemoteFile;

// Holds a descriptor while it lives; reads may come from several threads at once.
class RandomAccessFile {
 public:
  explicit RandomAccessFile(std::string path);  // UsageError when it cannot be opened

  // One read, on an object store one request. Fills `out` from `offset` on; fewer bytes only at the
  // end of the file.
  std::size_t read_at(std::uint64_t offset, std::span<char> out) const;
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor descriptor_;
  std::shared_ptr<const RemoteFile> remote_;  // instead of descriptor_
  std::uint64_t size_ = 0;
};

}  // namespace smelt
