// What is wrong with a text: bytes that are no text, rows that cannot be read. They are left out,
// counted and told in one warning, or refused beyond a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct TextFault {
  // ill_formed: bytes that are not UTF-8; surrogate: halves of characters, escaped in JSON; zeros:
  // NUL bytes. All three were taken out of the text. quoted_cell: a cell of a TSV in quotes, which
  // stay part of the text.
  enum class Kind { ill_formed, surrogate, zeros, bad_row, quoted_cell };
  Kind kind = Kind::bad_row;
  std::int64_t line = 0;  // of the file, or the row of a Parquet file; from 1
  std::size_t bytes = 0;  // that were taken out, of `of`
  std::size_t of = 0;
  std::string what = {}, hint = {};  // of a bad row
  std::uint64_t rows = 1;            // a bad row of several lines counts as so many rows
};
using FaultSink = std::function<void(TextFault)>;

// Keeps what bytes.decode("utf-8", "ignore") keeps, without NUL bytes, and tells the sink of each
// kind that it took out.
void clean_text(std::string& text, std::int64_t line, const FaultSink& sink);

struct TextLimits {
  bool strict = false;    // the first fault of any kind ends the job
  double max_bad = 0.01;  // share of the rows read so far that may be left out; kFreeBadRows always
                          // may, unless it is 0
  // The setting that says the share, where it is held to of few rows as of many: once all are read.
  std::string held_to = {};
  bool quiet = false;  // another pass over the same text tells what is left out
};
constexpr std::int64_t kFreeBadRows = 100;

class TextFaults {
 public:
  // UsageError for a share that is below 0 or above 1.
  explicit TextFaults(const TextLimits& limits = {});

  // UsageError naming the file, the line (row) and the counts beyond the limits.
  void add(const TextFault& fault, const std::string& path);
  void add_good_row() { ++good_rows_; }
  // clean_text and add.
  void clean(std::string& line, const std::string& path, std::int64_t number);
  // At the end of all text: warns, each kind once, with the first places. UsageError where there
  // were rows and none could be read.
  void finish();

  std::uint64_t dropped_bytes() const { return dropped_bytes_; }  // that were not UTF-8
  std::uint64_t bad_rows() const { return bad_rows_; }

 private:
  void add_bad_row(const TextFault& fault, const std::string& place);
  [[noreturn]] void throw_bad_rows(const TextFault& fault, const std::string& place,
                                   std::string_view how_many) const;

  TextLimits limits_;
  std::uint64_t dropped_bytes_ = 0, zeros_ = 0, quoted_ = 0, bad_rows_ = 0, good_rows_ = 0;
  std::string first_dropped_, first_zero_, first_quoted_, first_bad_;  // places
  TextFault first_bad_row_;
  bool same_fault_ = true;               // in every bad row
  std::vector<std::string> bad_places_;  // with what is wrong there, the first ones
  bool finished_ = false;
};

// Whether so many ill-formed bytes of a file are no slips: it is in another encoding, and would
// lose its characters beyond ASCII.
class EncodingCheck {
 public:
  explicit EncodingCheck(std::string path) : path_(std::move(path)) {}
  void add_text(std::size_t bytes) { text_bytes_ += bytes; }
  // UsageError with the share.
  void add(const TextFault& fault);

 private:
  std::string path_;
  std::uint64_t text_bytes_ = 0, ill_formed_ = 0;
};

}  // namespace smelt
