#include "text/readers/bad_row_limit.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "text/readers/unicode.h"

namespace smelt::text {
namespace {

constexpr std::size_t kPlacesTold = 3;
// A file is considered not to be UTF-8 if at least kLeastIllFormed bytes and more than one in
// kOneIn are ill-formed. Latin-1 text of any language that uses its non-ASCII letters exceeds this.
constexpr std::uint64_t kLeastIllFormed = 20, kOneIn = 1000;

}  // namespace

void clean_text(std::string& text, std::int64_t line, const FaultSink& sink) {
  const std::size_t size = text.size();
  if (text.find('\0') != std::string::npos)
    sink({.kind = TextFault::Kind::zeros,
          .line = line,
          .bytes = std::erase(text, '\0'),
          .of = size});
  if (is_ascii(text)) return;
  std::size_t dropped = 0;
  std::string kept = decode_utf8_ignore(text, &dropped);
  if (dropped == 0) return;
  text = std::move(kept);
  sink({.kind = TextFault::Kind::ill_formed, .line = line, .bytes = dropped, .of = size});
}

TextFaults::TextFaults(const TextLimits& limits) : limits_(limits) {
  if (!(limits_.max_bad >= 0 && limits_.max_bad <= 1))
    throw UsageError(
        str("text: max_bad ", limits_.max_bad, ": must be between 0 and 1"),
        str("use 0.01 to skip up to 1 % of the rows, and ", kFreeBadRows, " in any case"));
}

void TextFaults::add(const TextFault& fault, const std::string& path) {
  const std::string place = str(path, ":", fault.line);
  if (fault.kind == TextFault::Kind::bad_row) return add_bad_row(fault, place);
  if (fault.kind == TextFault::Kind::quoted_cell) {
    if (quoted_++ == 0) first_quoted_ = place;
    return;
  }
  const bool zeros = fault.kind == TextFault::Kind::zeros;
  if (limits_.strict && zeros)
    throw UsageError(str(place, ": ", fault.bytes, " NUL bytes in a text file"),
                     "remove the file if it is not text; or run without --strict");
  if (limits_.strict)
    throw UsageError(str(place, ": not UTF-8 (", counted(fault.bytes, "byte"), ")"),
                     "find its encoding with `file -i`, then convert it: `iconv -f ENCODING -t "
                     "utf-8`; or run without --strict");
  std::string& first = zeros ? first_zero_ : first_dropped_;
  if (first.empty()) first = place;
  (zeros ? zeros_ : dropped_bytes_) += fault.bytes;
}

void TextFaults::clean(std::string& line, const std::string& path, std::int64_t number) {
  clean_text(line, number, [&](const TextFault& fault) { add(fault, path); });
}

void TextFaults::add_bad_row(const TextFault& fault, const std::string& place) {
  if (limits_.strict || limits_.max_bad == 0) throw_bad_rows(fault, place, "");
  if (bad_rows_ == 0) {
    first_bad_ = place;
    first_bad_row_ = fault;
  }
  bad_rows_ += fault.rows;
  same_fault_ = same_fault_ && fault.what == first_bad_row_.what;
  if (bad_places_.size() < kPlacesTold) bad_places_.push_back(str(place, " (", fault.what, ")"));
  const std::uint64_t rows = bad_rows_ + good_rows_;
  if (bad_rows_ <= static_cast<std::uint64_t>(kFreeBadRows) ||
      static_cast<double>(bad_rows_) <= limits_.max_bad * static_cast<double>(rows))
    return;
  // If every row so far has the same fault, the field name or the format is wrong, so the share
  // does not matter.
  if (good_rows_ == 0 && same_fault_)
    throw_bad_rows(first_bad_row_, first_bad_,
                   str(", nor in any of the first ", bad_rows_, " rows"));
  throw_bad_rows({.what = fault.what,
                  .hint = str(fault.hint, fault.hint.ends_with('?') ? " Or" : "; or",
                              " raise --max-bad, text.max_bad in a recipe, to leave more out")},
                 place,
                 str("; ", bad_rows_, " of ", rows, " rows cannot be read, the first in ",
                     first_bad_, "; max_bad is ", limits_.max_bad));
}

void TextFaults::throw_bad_rows(const TextFault& fault, const std::string& place,
                                std::string_view how_many) const {
  throw UsageError(str(place, ": ", fault.what, how_many), fault.hint);
}

void TextFaults::throw_no_rows() const {
  std::string none = str("; none of ", counted(bad_rows_, "row"), " can be read");
  if (dropped_bytes_ == 0) throw_bad_rows(first_bad_row_, first_bad_, none);
  TextFault fault = first_bad_row_;
  fault.hint =
      "find the file's encoding with `file -i`, then convert it: `iconv -f ENCODING -t utf-8`";
  throw_bad_rows(fault, first_bad_,
                 str(none, "; ", counted(dropped_bytes_, "byte was", "bytes were"),
                     " left out because they are not UTF-8, the first in ", first_dropped_));
}

void TextFaults::finish() {
  if (std::exchange(finished_, true)) return;
  if (bad_rows_ > 0 && good_rows_ == 0) throw_no_rows();
  const std::uint64_t rows = bad_rows_ + good_rows_;
  if (!limits_.held_to.empty() &&
      static_cast<double>(bad_rows_) > limits_.max_bad * static_cast<double>(rows))
    throw UsageError(str(join(bad_places_, ", "), bad_rows_ > bad_places_.size() ? ", …" : "", ": ",
                         bad_rows_, " of ", counted(rows, "row"), " cannot be read; ",
                         limits_.held_to, " is ", limits_.max_bad),
                     str("fix these rows, or raise ", limits_.held_to, " to skip them"));
  if (limits_.quiet) return;
  if (bad_rows_ > 0)
    log_warning("{} of {} cannot be read and {} left out: {}{}", bad_rows_,
                counted(bad_rows_ + good_rows_, "row"), bad_rows_ == 1 ? "is" : "are",
                join(bad_places_, ", "), bad_rows_ > bad_places_.size() ? ", …" : "");
  if (dropped_bytes_ > 0)
    log_warning(
        "{} that {} not UTF-8 {} left out, the first in {}\n"
        "  hint: if letters are missing, find the file's encoding with `file -i` and convert "
        "it with `iconv -t utf-8`",
        counted(dropped_bytes_, "byte"), dropped_bytes_ == 1 ? "is" : "are",
        dropped_bytes_ == 1 ? "was" : "were", first_dropped_);
  if (quoted_ > 0)
    log_warning(
        "{} written in quotes, which the format tsv reads as part of the text, the first in {}\n"
        "  hint: if a program quoted them (pandas, R, Excel), read the file with format tsv-quoted",
        counted(quoted_, "cell of a TSV is", "cells of TSV files are"), first_quoted_);
  if (zeros_ > 0)
    log_warning("{} left out, the first in {}: check that this is a text file",
                counted(zeros_, "NUL byte was", "NUL bytes were"), first_zero_);
}

void EncodingCheck::add(const TextFault& fault) {
  if (fault.kind != TextFault::Kind::ill_formed) return;
  const std::uint64_t text = text_bytes_ + ill_formed_ + fault.of;
  ill_formed_ += fault.bytes;
  if (ill_formed_ < kLeastIllFormed || ill_formed_ * kOneIn <= text) return;
  throw UsageError(
      str(path_, ":", fault.line, ": the file is not UTF-8: ", ill_formed_, " of ", text,
          " bytes so far are not valid UTF-8"),
      str("find its encoding with `file -i ", path_,
          "`, then convert it: `iconv -f ENCODING -t utf-8`; `iconv -c -f utf-8 -t utf-8` "
          "leaves such bytes out"));
}

}  // namespace smelt::text
