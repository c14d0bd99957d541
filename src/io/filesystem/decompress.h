// Reads files that may be compressed. gzip, bzip2 (both also with several members) and zstd are
// detected by their first bytes and decompressed while reading; other files are read unchanged,
// unless their name or first bytes indicate an unsupported compression. Zeros after the last gzip
// member are padding. zstd files may need a window of up to 128 MiB.
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

namespace smelt::io {

// Throws UsageError if the file name has the suffix of an unsupported compression.
void check_packing(const std::string& path);
// Throws UsageError if the (decompressed) first bytes are those of an unsupported compression.
void check_packing(const std::string& path, std::string_view head);

class DecompressedFile {
 public:
  // Throws UsageError if the file cannot be opened, does not match its suffix or has an unsupported
  // compression. If `is_plain` returns true for the file's first bytes, the file is read unchanged,
  // whatever its suffix.
  explicit DecompressedFile(const std::string& path,
                            bool (*is_plain)(std::string_view head) = nullptr);
  ~DecompressedFile();

  // Fills `out` and returns the number of bytes, fewer only at the end of the file. Throws
  // UsageError that names the file and the position in the decompressed data if the compressed data
  // is damaged or truncated.
  std::size_t read(std::span<char> out);
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return bytes_read_; }  // compressed bytes read

 private:
  bool refill();
  std::size_t unpack(std::span<char> out);
  bool skip_padding();
  void check_window(const std::string& message) const;
  [[noreturn]] void fail(const std::string& what) const;

  InputFile file_;
  std::vector<char> buffer_;
  std::span<char> rest_;  // part of buffer_ that is not consumed yet
  std::uint64_t bytes_read_ = 0, unpacked_ = 0;
  bool more_ = false;             // the decompressor has output that did not fit
  const char* format_ = nullptr;  // "gzip", …; null if not compressed
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
};

}  // namespace smelt::io
