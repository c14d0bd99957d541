#include "pipeline/objectives/kept_rows.h"

#include "base/error.h"
#include "base/plural.h"
#include "data/preprocess/row_records.h"
#include "io/filesystem/folder.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kMakeAgain = "delete it and the records; `smelt run` creates both again";

void check_count(const std::string& path, std::uint64_t records) {
  text::LineReader lines(path);
  std::uint64_t rows = 0;
  for (std::string line; lines.next(line);) ++rows;
  if (rows != records)
    throw UsageError(str(path, ": ", counted(rows, "row"), ", but ", counted(records, "record")),
                     kMakeAgain);
}

}  // namespace

KeptRows::KeptRows(const std::string& records, std::uint64_t count)
    : path_(data::rows_beside(records)) {
  if (!io::exists(path_)) return;
  check_count(path_, count);  // checked before the first prediction, as predicting may take hours
  lines_.emplace(path_);
}

OrderedJson KeptRows::next() {
  CHECK(lines_);
  std::string line;
  const bool has_line = lines_->next(line);
  auto row = OrderedJson::parse_or_discard(line);
  if (!has_line || !row.is_object() || !row.contains("text") || !row.contains("label"))
    throw UsageError(
        str(path_, ":", lines_->number() + (has_line ? 0 : 1), ": not a row with text and label"),
        kMakeAgain);
  return row;
}

}  // namespace smelt::pipeline
