// Files of rows, one of whose fields is text.
#pragma once

#include <memory>
#include <string>

#include "text/lines.h"

namespace smelt {

class RowReader {
 public:
  virtual ~RowReader() = default;
  // The text of the next row; false at the end. UsageError naming file and line (row).
  virtual bool next(std::string& text) = 0;
};

// A JSON object a line; empty lines do not count. A string field.
std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::string& field,
                                      Utf8Filter& utf8);
// Names of the fields in the first line; fields between tabs, without quotes or escapes.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::string& field,
                                    Utf8Filter& utf8);
// A column of text; null rows do not count.
std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::string& field,
                                        Utf8Filter& utf8);

}  // namespace smelt
