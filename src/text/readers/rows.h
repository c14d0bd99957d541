// Readers of files whose rows have named fields: JSONL, TSV, CSV, Parquet, CoNLL and SQuAD.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/choice.h"
#include "text/readers/bad_row_limit.h"

namespace smelt::text {

// quoted_tsv: a TSV whose fields may be quoted as in a CSV.
enum class FileFormat { by_name, text, jsonl, tsv, quoted_tsv, csv, parquet, conll, squad };

// Names: "auto", "text", "jsonl", "tsv", "tsv-quoted", "csv", "parquet", "conll" and "squad".
// Throws UsageError "<what> '<word>' is unknown" for another name.
FileFormat parse_file_format(std::string_view word, std::string_view what = "--format");
std::string_view name(FileFormat format);

// Returns `said`, or for by_name the format of the file extension, ignoring case and a compression
// extension (".gz", ".bz2", ".zst"). Unknown extensions are text. Throws UsageError for an
// extension that is not supported (.json, .xz).
FileFormat format_of(const std::string& path, FileFormat said);

// A field to read from every row: a key of a JSONL object, a column of a TSV or CSV, or a column of
// a Parquet schema (a nested one by its path, "a.b").
struct Field {
  std::string name;
  bool is_text = true;  // false: numbers and booleans are also accepted and returned as text: "3",
                        // "0.5", "true"
  // Also accept a JSON array or Parquet list of strings, which are joined by spaces; a space within
  // a string becomes U+00A0. If is_text is false, the list may hold numbers and booleans too.
  bool is_words = false;
  // Also accept a JSON array or Parquet list of strings, numbers and booleans, returned as a JSON
  // list of strings.
  bool is_list = false;
  bool is_json = false;  // also accept an object or array, returned as JSON
  bool is_optional =
      // "" if the row or table lacks the field; not supported for Parquet and CoNLL
      false;
};

// How to interpret the first line of a TSV or CSV.
enum class Header {
  names,    // column names
  none,     // a row like the others
  skipped,  // ignored
};
inline constexpr NamedValues<Header, 3> kHeaders{
    {{"names", Header::names}, {"none", Header::none}, {"skipped", Header::skipped}}};
constexpr const NamedValues<Header, 3>& words_of(Header) { return kHeaders; }

// Appends a word of a list to `words`, after a space if it is not the first. White space within the
// word becomes U+00A0.
void append_word(std::string_view word, std::string& words);

class RowReader {
 public:
  virtual ~RowReader() = default;
  // Reads the requested fields of the next valid row, in order; returns false at the end. Reports
  // rows that are malformed, lack a field, or have null or a wrong type in one to the sink and
  // skips them. Other fields are not checked.
  virtual bool next(std::vector<std::string>& values) = 0;
  // Returns where the row of the last next() begins: a line number, or the row number in Parquet;
  // from 1.
  virtual std::int64_t line() const = 0;
  // Returns approximately how many bytes of the file have been read.
  virtual std::uint64_t bytes_read() const = 0;
};

// Opens a file of rows. Memory is bounded by a row, or in Parquet by a page of each requested
// column. If `header` is not `names`, fields are named by column number: from 1, or from the end,
// where -1 is the last; rows may then differ in their number of columns.
//
// Throws UsageError if the file cannot be opened, lacks the fields or is plain text, if a field is
// not a valid column number, or if `header` is set for a format other than TSV and CSV.
std::unique_ptr<RowReader> open_rows(const std::string& path, FileFormat format,
                                     const std::vector<Field>& fields, FaultSink faults,
                                     Header header = Header::names);

}  // namespace smelt::text
