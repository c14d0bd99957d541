// The original rows that records were made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "text/readers/lines.h"

namespace smelt::pipeline {

// A reader of the original rows of one file of records (data::rows_beside()).
class KeptRows {
 public:
  // Opens the file if it exists. Throws UsageError if it does not have `count` rows.
  KeptRows(const std::string& records, std::uint64_t count);

  // Returns whether the file exists. Records of earlier versions have none.
  bool are_there() const { return lines_.has_value(); }
  // Returns the next row: text, label and possibly pair. Throws UsageError if the line is not a
  // row.
  OrderedJson next();

 private:
  std::string path_;
  std::optional<text::LineReader> lines_;
};

}  // namespace smelt::pipeline
