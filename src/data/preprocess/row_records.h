// Rows encoded as records by all cores, in their order; their index, and which of them are held
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/record_index_file.h"
#include "data/preprocess/labelled_rows.h"
#include "io/filesystem/file.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt {

// One of the two parts of rows: of each class its share is held out, at least one row where there
// are two and none where there is one; which, the seed says.
struct RowSplit {
  double heldout = 0.1;
  std::uint64_t seed = 12345;
  enum class Part { train, heldout } part = Part::train;
};
// The rows (by number) of such classes that are held out.
std::vector<bool> heldout_rows(const std::vector<std::int32_t>& classes, const RowSplit& split);
// Those of the part; all rows, in an empty list, without a split.
using ClassOfRow = std::function<std::int32_t(const LabelledRow& row, const std::string& place)>;
std::vector<bool> wanted_rows(const LabelledFiles& files, const std::string& what,
                              const std::optional<RowSplit>& split, const ClassOfRow& class_of);

// The rows to write parts of; what is left out of them is told once, with the first part.
LabelledRows rows_to_write(const LabelledFiles& files, const std::string& what,
                           const std::optional<RowSplit>& split);

// UsageError for a part, of so many rows, that gives no example: nothing could be held out, or
// `hint` says what to give.
[[noreturn]] void throw_no_example(const LabelledFiles& files, const std::string& what,
                                   const std::optional<RowSplit>& split, std::size_t rows,
                                   const std::string& hint);

// Returns the path of the JSONL file beside `records` that stores the rows as the user wrote them:
// one object per record with `text`, `label` and, for pairs, `pair`.
std::string rows_beside(const std::string& records);
// Returns the row's line of that file.
std::string row_line(const LabelledRow& row);

// Reads the first rows and throws the UsageError with which a job would refuse them: a file in
// another encoding, bad rows, no row at all, for which `hint` says what to give.
void check_rows(const LabelledFiles& files, const std::string& what, const std::string& hint);

struct EncodedRow {
  std::string record;  // as a TFRecord file holds it
  std::size_t tokens = 0, unknown = 0;
  bool is_cut = false;
  CharacterCounts unknown_characters = {};
};

struct RowCounts {
  std::uint64_t examples = 0, cut = 0;
  std::uint64_t tokens = 0, unknown = 0;
  std::vector<std::int64_t> tokens_of_each;
  CharacterCounts unknown_characters = {};
};

// A row may give several records, or none.
class RowRecords {
 public:
  using Encode = std::function<std::vector<EncodedRow>(const LabelledRow&)>;
  // `encode` is called by several threads.
  RowRecords(const std::string& output, Encode encode);

  void add(LabelledRow row);
  // Writes the index; the file appears with commit(), once what describes it is written.
  RowCounts finish();
  void commit() { file_.commit(); }

 private:
  void write_rows();

  void put(const EncodedRow& one);

  Encode encode_;
  OutputFile file_;
  RecordIndexBuilder index_;
  std::vector<LabelledRow> rows_;
  RowCounts counts_;
};

}  // namespace smelt
