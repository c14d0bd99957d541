// The content of a file, memory-mapped if it is local.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace smelt::io {

// A file on a local disk is memory-mapped after reading it once, so that read errors are detected.
// It must not be truncated while it is mapped. Files on object stores and network disks are read
// into memory. Copies share the bytes.
class FileContent {
 public:
  explicit FileContent(const std::string& path);  // throws UsageError if missing or unreadable
  std::string_view bytes() const { return bytes_; }
  // Keeps the bytes alive for views that outlive this object.
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
};

}  // namespace smelt::io
