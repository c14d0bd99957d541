// Reads a text file line by line with bounded memory. Compressed files are decompressed
// (io/filesystem/decompress.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/decompress.h"

namespace smelt::text {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20;

class LineReader {
 public:
  // Throws UsageError if the file cannot be opened.
  explicit LineReader(const std::string& path);

  // Reads the next line without its "\n" or "\r\n"; returns false at the end. Throws UsageError
  // with the file and line if it is longer than kMaxLineBytes.
  bool next(std::string& line);
  // Returns the number of the current line, from 1.
  std::int64_t number() const { return number_; }
  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes_read() const { return file_.bytes_read(); }

 private:
  bool refill();

  io::DecompressedFile file_;
  std::vector<char> buffer_;
  std::string_view rest_;  // unread part of buffer_
  std::int64_t number_ = 0;
};

}  // namespace smelt::text
