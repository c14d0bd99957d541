// The lines of one input file, whatever its format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/lines.h"

namespace smelt {

class LineSource {
 public:
  enum class Event { line, row_end, end };

  virtual ~LineSource() = default;
  // A line of text, stripped as str.strip() does and without '\r', possibly empty; or the end of a row or of the file.
  virtual Event next(std::string& line) = 0;
  // Whether the file is made of rows, each a document; else its documents end with empty lines.
  virtual bool has_rows() const = 0;
};

// "text", "jsonl", "tsv" or "parquet" by the path's ending (".gz" and ".zst" do not count); other names are text.
std::string format_of(const std::string& path);

// UsageError when the file cannot be opened, has no such field, or does not hold what its format promises: naming the file
// and line or row. The filter must outlive the source.
std::unique_ptr<LineSource> open_source(const std::string& path, const std::string& format,
                                        const std::string& field, Utf8Filter& utf8);

}  // namespace smelt
