// The whole content of a file, memory-mapped if it is local.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace smelt {

// The content of a file. A file on a local disk is memory-mapped after it was read once, so that
// read errors are reported; the system may drop its pages at any time. It must not be truncated
// meanwhile. A file on an object store or network disk is read into memory. Copies share the bytes.
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
