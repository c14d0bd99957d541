// Reads a file that may be compressed. gzip, bzip2 (both with one or several members) and zstd are
// recognized by their first bytes and unpacked while they are read. Other files are read unchanged,
// unless their name or first bytes show another kind of compression. Zeros after the last member of
// a gzip file are padding. A zstd file may need a window of up to 128 MiB.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/file.h"

namespace arrow::util {
class Decompressor;
}

namespace smelt {

// UsageError for a file whose name says that it is packed in a way that is not known here.
void check_packing(const std::string& path);
// Does the same for the first unpacked bytes of a file.
void check_packing(const std::string& path, std::string_view head);

class DecompressedFile {
 public:
  // Throws UsageError if the file cannot be opened, its name ends in .gz and the like but it is not
  // compressed so, or the compression is unknown. A file whose first bytes `is_plain` accepts is
  // read unchanged.
  explicit DecompressedFile(const std::string& path,
                            bool (*is_plain)(std::string_view head) = nullptr);
  ~DecompressedFile();

  // Fills `out`; fewer bytes only at the end. UsageError naming the file, and how much was
  // unpacked, when its compressed bytes are damaged or end too early.
  std::size_t read(std::span<char> out);
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return bytes_read_; }  // compressed bytes

 private:
  bool refill();
  std::size_t unpack(std::span<char> out);
  bool skip_padding();
  void check_window(const std::string& message) const;
  [[noreturn]] void fail(const std::string& what) const;

  InputFile file_;
  std::vector<char> buffer_;
  std::span<char> rest_;  // of buffer_, not yet taken
  std::uint64_t bytes_read_ = 0, unpacked_ = 0;
  bool more_ = false;             // the decompressor has output that did not fit
  const char* format_ = nullptr;  // "gzip", …; null: not compressed
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
};

}  // namespace smelt
