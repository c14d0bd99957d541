// Files of rows with named fields: JSONL, TSV, CSV and Parquet; sentences of CoNLL; questions of
// SQuAD.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/choice.h"
#include "text/readers/bad_row_limit.h"

namespace smelt {

// quoted_tsv: a TSV whose fields may be in quotes, as those of a CSV.
enum class FileFormat { by_name, text, jsonl, tsv, quoted_tsv, csv, parquet, conll, squad };

// "auto", "text", "jsonl", "tsv", "tsv-quoted", "csv", "parquet", "conll" or "squad". UsageError
// "<what> '<word>' is unknown".
FileFormat parse_file_format(std::string_view word, std::string_view what = "--format");
std::string_view name(FileFormat format);

// by_name: what the path's ending says (".gz", ".bz2" and ".zst" do not count), other names are
// text. Capitals are the same. UsageError for a name that says what cannot be read (.json, .xz).
FileFormat format_of(const std::string& path, FileFormat said);

// A field that is wanted of every row: of a JSONL object, a TSV's or CSV's header, a Parquet
// schema (one within others by its path, "a.b").
struct Field {
  std::string name;
  bool is_text = true;  // false: a number or a boolean will do, as its text: "3", "0.5", "true"
  // An array of JSON's strings will do, too, as they are with spaces between; a space within one
  // becomes U+00A0. If is_text is false, its numbers and booleans are taken as their texts.
  bool is_words = false;
  // An array of JSON's strings, numbers and booleans will do, too, as a JSON list of strings.
  bool is_list = false;
  bool is_json = false;      // an object or an array will do, too, as its JSON
  bool is_optional = false;  // "" where a row, or a table, has none; of Parquet and CoNLL it is not
};

// What the first line of a TSV or CSV is.
enum class Header {
  names,    // of the columns
  none,     // a row as the others
  skipped,  // passed over
};
inline constexpr NamedValues<Header, 3> kHeaders{
    {{"names", Header::names}, {"none", Header::none}, {"skipped", Header::skipped}}};
constexpr const NamedValues<Header, 3>& words_of(Header) { return kHeaders; }

class RowReader {
 public:
  virtual ~RowReader() = default;
  // The wanted fields of the next row that can be read, in their order; false at the end. Rows that
  // are malformed, lack such a field or have another type or null in it are told to the sink and
  // passed over. What other fields hold is not judged.
  virtual bool next(std::vector<std::string>& values) = 0;
  // Where the row of the last next() begins: the file's line, of Parquet the row; from 1.
  virtual std::int64_t line() const = 0;
  // Of the file so far, about.
  virtual std::uint64_t bytes_read() const = 0;
};

// Memory is bounded by a row, in Parquet by a page of each wanted column. UsageError when the file
// cannot be opened, has no such fields, or is text, which has none. Without names in its header a
// table's field is a column's number: from 1, or from the last, which is -1; its rows may have any
// number of columns then, those that are wanted among them. UsageError for another such name, and
// for another format than TSV and CSV.
std::unique_ptr<RowReader> open_rows(const std::string& path, FileFormat format,
                                     const std::vector<Field>& fields, FaultSink faults,
                                     Header header = Header::names);

}  // namespace smelt
