// Encodes rows as records on all cores, in order, with an index, and splits rows into a training
// and a held-out part.
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

namespace smelt::data {

// One part of a split: a share of the rows of each class is held out, at least one row if the class
// has two or more, none if it has a single row. The seed selects the rows.
struct RowSplit {
  double heldout = 0.1;
  std::uint64_t seed = 12345;
  enum class Part { train, heldout } part = Part::train;
};
// Returns for each row, given the rows' classes, whether it is held out.
std::vector<bool> heldout_rows(const std::vector<std::int32_t>& classes, const RowSplit& split);
// Returns for each row whether it is in the part. Without a split returns an empty list, which
// means all rows.
using ClassOfRow = std::function<std::int32_t(const LabelledRow& row, const std::string& place)>;
std::vector<bool> wanted_rows(const LabelledFiles& files, const std::string& what,
                              const std::optional<RowSplit>& split, const ClassOfRow& class_of);

// Selects rows like wanted_rows(), but keeps all rows of a group in the same part. `group_of`
// returns a text that is equal for the rows of a group.
using GroupOfRow = std::function<const std::string&(const LabelledRow& row)>;
std::vector<bool> wanted_groups(const LabelledFiles& files, const std::string& what,
                                const std::optional<RowSplit>& split, const GroupOfRow& group_of);

// Returns a reader of the rows to write. Warnings about skipped rows are logged only for the first
// part.
LabelledRows rows_to_write(const LabelledFiles& files, const std::string& what,
                           const std::optional<RowSplit>& split);

// Throws UsageError because a part of the split has no examples. For the held-out part, the message
// says that none of the `rows` rows can be held out; otherwise the error has the given hint.
[[noreturn]] void throw_no_example(const LabelledFiles& files, const std::string& what,
                                   const std::optional<RowSplit>& split, std::size_t rows,
                                   const std::string& hint);

// Returns the path of the JSONL file that stores the rows of `records` as the user wrote them: one
// object per record with `text`, `label` and, for pairs, `pair`.
std::string rows_beside(const std::string& records);
// Returns the row's line in that file.
std::string row_line(const LabelledRow& row);

// Reads the first rows and throws any UsageError that a job would throw: wrong encoding, bad rows,
// or no rows, for which `hint` is the hint.
void check_rows(const LabelledFiles& files, const std::string& what, const std::string& hint);

struct EncodedRow {
  std::string record;  // TFRecord record
  std::size_t tokens = 0, unknown = 0;
  bool is_cut = false;
  text::CharacterCounts unknown_characters = {};
};

struct RowCounts {
  std::uint64_t examples = 0, cut = 0;
  std::uint64_t tokens = 0, unknown = 0;
  std::vector<std::int64_t> tokens_of_each;
  text::CharacterCounts unknown_characters = {};
};

// Encodes rows in parallel and writes their records. A row may have several records, or none.
class RowRecords {
 public:
  using Encode = std::function<std::vector<EncodedRow>(const LabelledRow&)>;
  // `encode` is called from several threads.
  RowRecords(const std::string& output, Encode encode);

  void add(LabelledRow row);
  // Writes the index and returns the counts. The caller then writes the description and calls
  // commit(), which makes the record file visible.
  RowCounts finish();
  void commit() { file_.commit(); }

 private:
  void write_rows();

  void put(const EncodedRow& one);

  Encode encode_;
  io::OutputFile file_;
  RecordIndexBuilder index_;
  std::vector<LabelledRow> rows_;
  RowCounts counts_;
};

}  // namespace smelt::data
