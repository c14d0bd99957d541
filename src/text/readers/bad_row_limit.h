// Handling of invalid input: ill-formed bytes and rows that cannot be read. They are skipped,
// counted and reported in one warning; beyond a limit they are an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::text {

struct TextFault {
  // ill_formed: bytes that are not UTF-8; surrogate: an unpaired surrogate escaped in JSON; zeros:
  // NUL bytes. All three were removed from the text. quoted_cell: a quoted cell in a TSV; the
  // quotes stay part of the text.
  enum class Kind { ill_formed, surrogate, zeros, bad_row, quoted_cell };
  Kind kind = Kind::bad_row;
  std::int64_t line = 0;             // line number, or row number of a Parquet file; from 1
  std::size_t bytes = 0;             // number of removed bytes
  std::size_t of = 0;                // number of bytes of the text before the removal
  std::string what = {}, hint = {};  // error and hint of a bad row
  std::uint64_t rows = 1;            // number of rows to count for this fault
};
using FaultSink = std::function<void(TextFault)>;

// Removes ill-formed UTF-8 as Python's bytes.decode("utf-8", "ignore") does, and NUL bytes. Reports
// each kind of removed bytes to `sink`.
void clean_text(std::string& text, std::int64_t line, const FaultSink& sink);

struct TextLimits {
  bool strict = false;    // throw at the first fault of any kind
  double max_bad = 0.01;  // maximum share of skipped rows, from 0 to 1; unless it is 0,
                          // kFreeBadRows rows are allowed in any case
  // Name of the setting that sets max_bad, for messages. If it is not empty, finish() applies
  // max_bad even if only kFreeBadRows rows or fewer are bad.
  std::string held_to = {};
  bool quiet = false;  // do not log warnings, because another pass over the same text does
};
constexpr std::int64_t kFreeBadRows = 100;

class TextFaults {
 public:
  // Throws UsageError if max_bad is not between 0 and 1.
  explicit TextFaults(const TextLimits& limits = {});

  // Counts a fault in the file `path`. Throws UsageError with the file, the line (or row) and the
  // counts if a limit is exceeded.
  void add(const TextFault& fault, const std::string& path);
  void add_good_row() { ++good_rows_; }
  // Calls clean_text() on `line` and adds the faults.
  void clean(std::string& line, const std::string& path, std::int64_t number);
  // Must be called at the end of the input. Logs one warning per kind of fault, with the place of
  // the first one. Throws UsageError if there were rows but none could be read, or if max_bad
  // applies (see TextLimits::held_to) and is exceeded.
  void finish();

  std::uint64_t dropped_bytes() const { return dropped_bytes_; }  // bytes that were not UTF-8
  std::uint64_t bad_rows() const { return bad_rows_; }

 private:
  void add_bad_row(const TextFault& fault, const std::string& place);
  // Throws UsageError because no row can be read. The message mentions bytes that are not UTF-8, if
  // there are any, because they may be the reason.
  [[noreturn]] void throw_no_rows() const;
  [[noreturn]] void throw_bad_rows(const TextFault& fault, const std::string& place,
                                   std::string_view how_many) const;

  TextLimits limits_;
  std::uint64_t dropped_bytes_ = 0, zeros_ = 0, quoted_ = 0, bad_rows_ = 0, good_rows_ = 0;
  std::string first_dropped_, first_zero_, first_quoted_, first_bad_;  // file and line of the first
  TextFault first_bad_row_;
  bool same_fault_ = true;               // whether all bad rows have the same fault
  std::vector<std::string> bad_places_;  // first few places, each with its error
  bool finished_ = false;
};

// Detects a file that is not encoded in UTF-8 by its share of ill-formed bytes.
class EncodingCheck {
 public:
  explicit EncodingCheck(std::string path) : path_(std::move(path)) {}
  void add_text(std::size_t bytes) { text_bytes_ += bytes; }
  // Counts ill-formed bytes. Throws UsageError if their share of the text is too high.
  void add(const TextFault& fault);

 private:
  std::string path_;
  std::uint64_t text_bytes_ = 0, ill_formed_ = 0;
};

}  // namespace smelt::text
