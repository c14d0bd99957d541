// The lines of a text file, one at a time, in bounded memory. Compressed files are unpacked
// (store/decompress.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/decompress.h"

namespace smelt {

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

// Keeps the well-formed part of lines and says once how much was dropped; or refuses ill-formed
// ones.
class Utf8Filter {
 public:
  enum class Mode { drop, refuse };
  explicit Utf8Filter(Mode mode) : mode_(mode) {}

  // The line as bytes.decode("utf-8", "ignore") has it. NUL bytes, which no text has, stay and are
  // counted. Mode::refuse: UsageError naming file and line (or row).
  void apply(std::string& line, const std::string& path, std::int64_t number);
  void apply(std::string& line, const LineReader& from) { apply(line, from.path(), from.number()); }
  // `bytes` that are no text were taken out there. Mode::refuse: UsageError.
  void count_dropped(std::size_t bytes, const std::string& path, std::int64_t number);
  std::int64_t dropped_bytes() const { return dropped_bytes_; }
  // The counts, each with the first place, if there is anything to say.
  void warn() const;

 private:
  void count_zeros(const std::string& line, const std::string& path, std::int64_t number);

  Mode mode_;
  std::int64_t dropped_bytes_ = 0, zeros_ = 0;
  std::string first_, first_zero_;
};

}  // namespace smelt
