// The lines of a text file, one at a time, in bounded memory. Compressed files are unpacked
// (io/filesystem/decompress.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/decompress.h"

namespace smelt {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

class LineReader {
 public:
  // UsageError when the file cannot be opened.
  explicit LineReader(const std::string& path);

  // The next line without its "\n" or "\r\n"; false at the end. UsageError naming file and line for
  // one of more than kMaxLineBytes.
  bool next(std::string& line);
  // Of the line that next() gave last, from 1.
  std::int64_t number() const { return number_; }
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return file_.bytes_read(); }

 private:
  bool refill();

  DecompressedFile file_;
  std::vector<char> buffer_;
  std::string_view rest_;  // of buffer_, not yet given out
  std::int64_t number_ = 0;
};

}  // namespace smelt
