// The rows that records were made of, as the user wrote them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "text/readers/lines.h"

namespace smelt {

// A reader of the file that rows_beside() names.
class KeptRows {
 public:
  // Throws UsageError if there is a file that does not have `count` rows.
  KeptRows(const std::string& records, std::uint64_t count);

  // Whether there is a file. Records of earlier versions have none.
  bool are_there() const { return lines_.has_value(); }
  // Returns the next row: text, label and perhaps pair. Throws UsageError if the line is not a row.
  OrderedJson next();

 private:
  std::string path_;
  std::optional<LineReader> lines_;
};

}  // namespace smelt
