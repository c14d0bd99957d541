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
  // A line of text, stripped as str.strip() does and without '\r', possibly empty; or the end of a
  // row or of the file.
  virtual Event next(std::string& line) = 0;
  // Whether the file is made of rows, each a document; else its documents end with empty lines.
  virtual bool has_rows() const = 0;
};

// How to find the text in a file.
struct TextFormat {
  // "text", "jsonl", "tsv" or "parquet"; "auto" goes by each path's ending (".gz" and ".zst" do not
  // count), other names are text.
  std::string name = "auto";
  std::string field =
      "text";  // of a JSONL object, a TSV header or a Parquet schema: where the text is
};

// UsageError for an unknown name.
void check_format(const TextFormat& format);

// UsageError when the file cannot be opened, has no such field, or does not hold what its format
// promises: naming the file and line or row. The filter must outlive the source.
std::unique_ptr<LineSource> open_source(const std::string& path, const TextFormat& format,
                                        Utf8Filter& utf8);

}  // namespace smelt
