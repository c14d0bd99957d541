// The lines of text in many files, whatever their formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/readers/bad_row_limit.h"
#include "text/readers/files_ahead.h"
#include "text/readers/line_batches.h"

namespace smelt {

// One file after another. Some of the next ones are opened, unpacked and parsed meanwhile
// (text/readers/files_ahead.h); what comes out is the same for any number of threads.
class LineSource {
 public:
  enum class Event { line, row_end, file_end, end };

  // UsageError for any file whose name says what cannot be read. `threads` 0: as many as there are
  // cores; none is started before the first next().
  LineSource(std::vector<std::string> files, const TextFormat& format, const TextLimits& limits,
             int threads = 0);

  // A line of text, stripped as str.strip() does, of a text file without '\r', possibly empty; or
  // the end of a row, of a file or of all. UsageError when a file cannot be opened, has no such
  // field, or does not hold what its format promises: naming the file and line or row.
  Event next(std::string& line);
  // Whether the file that is read now is made of rows, each a document; else its documents end with
  // empty lines.
  bool has_rows() const { return batch_.has_rows; }

  const std::vector<std::string>& files() const { return files_; }
  std::size_t files_opened() const { return opened_; }
  // What was left out so far; its finish() is the caller's, who may stop before the end.
  TextFaults& faults() { return faults_; }
  // Whether TextFormat::most_bytes has ended one of the files that were read.
  bool was_truncated() const { return was_truncated_; }
  // Of the files, packed ones as they are.
  std::uint64_t bytes_read() const { return bytes_before_ + batch_.bytes_read; }
  std::uint64_t total_bytes() const;  // asks the storage for each file
  // The share of all files' bytes that next() has given out, about.
  double share_read() const;

 private:
  bool take_batch();
  Event end_file();

  std::vector<std::string> files_;
  TextFormat format_;
  TextFaults faults_;
  int threads_;
  std::unique_ptr<FilesAhead> ahead_;
  std::size_t opened_ = 0;  // the last of them is read now, or has ended
  bool in_file_ = false, was_truncated_ = false;
  std::uint64_t bytes_before_ = 0;  // of the files that ended
  std::uint64_t batch_begin_ = 0;   // bytes of the file before batch_
  LineBatch batch_;
  std::size_t item_ = 0, fault_ = 0;  // of batch_, the next ones
};

}  // namespace smelt
