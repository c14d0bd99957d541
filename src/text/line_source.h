// The lines of text in many files, whatever their formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/rows.h"

namespace smelt {

// How to find the text in a file.
struct TextFormat {
  FileFormat file = FileFormat::by_name;
  std::string field = "text";  // where the text is in a file of rows
};

// One file after another, each opened when the one before it has ended.
class LineSource {
 public:
  enum class Event { line, row_end, file_end, end };

  // UsageError for any file whose name says what cannot be read.
  LineSource(std::vector<std::string> files, const TextFormat& format, Utf8Filter::Mode utf8);

  // A line of text, stripped as str.strip() does and without '\r', possibly empty; or the end of a
  // row, of a file or of all. UsageError when a file cannot be opened, has no such field, or does
  // not hold what its format promises: naming the file and line or row.
  Event next(std::string& line);
  // Whether the file that is read now is made of rows, each a document; else its documents end with
  // empty lines.
  bool has_rows() const { return rows_ != nullptr; }

  const std::vector<std::string>& files() const { return files_; }
  std::size_t files_opened() const { return opened_; }
  const Utf8Filter& utf8() const { return utf8_; }
  // Of the files, packed ones as they are.
  std::uint64_t bytes_read() const;
  std::uint64_t total_bytes() const;  // asks the storage for each file

 private:
  bool open_next();
  Event next_of_rows(std::string& line);

  std::vector<std::string> files_;
  FileFormat format_;
  std::string field_;
  Utf8Filter utf8_;
  std::size_t opened_ = 0;
  std::uint64_t bytes_before_ = 0;     // of the files that ended
  std::unique_ptr<LineReader> lines_;  // of a text file
  std::unique_ptr<RowReader> rows_;    // of any other
  std::vector<std::string> row_;
  std::string_view rest_;  // of row_
  bool in_row_ = false;
};

}  // namespace smelt
