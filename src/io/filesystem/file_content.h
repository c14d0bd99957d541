// The whole content of a file, of which a local one takes no memory of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace smelt {

// A file on a disk of this machine is mapped, after all of it was read once, so that what cannot be
// read is said; the system may give its pages up at any time. It must not be cut meanwhile. Of a
// store or a network's disk the bytes are read into memory. Copies share them.
class FileContent {
 public:
  explicit FileContent(const std::string& path);  // UsageError when missing or unreadable
  std::string_view bytes() const { return bytes_; }
  // For views that outlive this object.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

}  // namespace smelt
