// The bytes of a file that may be compressed: gzip, bzip2 (both also of several members, one after
// another) and zstd are unpacked as they are read, by what the file begins with; anything else is
// read as it is, unless its name or its beginning says that it is packed in another way. Zeros
// behind the last member of gzip are padding. A zstd file may need a window of up to 128 MiB.
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
// The same for what its bytes, unpacked, begin with.
void check_packing(const std::string& path, std::string_view head);

class DecompressedFile {
 public:
  // UsageError when the file cannot be opened, is not what its name promises, or is packed in a way
  // that is not known here.
  // A file whose first bytes `is_plain` accepts is read as it is.
  explicit DecompressedFile(const std::string& path,
                            bool (*is_plain)(std::string_view head) = nullptr);
  ~DecompressedFile();

  // Fills `out`; fewer bytes only at the end. UsageError naming the file, and how much was
  // unpacked, when its compressed bytes are damaged or end too early.
  std::size_t read(std::span<char> out);
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return bytes_read_; }  // of the file as it is

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
  const char* format_ = nullptr;  // "gzip", …; null: as it is
  std::shared_ptr<arrow::util::Decompressor> decompressor_;
};

}  // namespace smelt
