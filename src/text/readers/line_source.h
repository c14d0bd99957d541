// Reads the lines of many text files of any format.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "text/readers/bad_row_limit.h"
#include "text/readers/file_prefetcher.h"
#include "text/readers/line_batches.h"

namespace smelt::text {

// Reads files in order. Further files are opened, decompressed and parsed in the background
// (text/readers/file_prefetcher.h); the result does not depend on the number of threads.
class LineSource {
 public:
  enum class Event { line, row_end, file_end, end };

  // Throws UsageError if a file's name shows that its format is not supported. `threads` 0 uses one
  // thread per core. Threads are started by the first next().
  LineSource(std::vector<std::string> files, const TextFormat& format, const TextLimits& limits,
             int threads = 0);

  // Returns the next event. For `line`, sets `line` to a line of text, stripped as by Python's
  // str.strip() and possibly empty. Throws UsageError with the file and line (or row) if a file
  // cannot be opened, lacks the field, or is malformed.
  Event next(std::string& line);
  // Returns whether the current file consists of rows, each of them a document. If not, empty lines
  // end documents.
  bool has_rows() const { return batch_.has_rows; }

  const std::vector<std::string>& files() const { return files_; }
  std::size_t files_opened() const { return opened_; }
  // Returns the faults so far. The caller must call finish() on them when it stops reading, which
  // may be before the end.
  TextFaults& faults() { return faults_; }
  // Returns whether a file was truncated because of TextFormat::most_bytes.
  bool was_truncated() const { return was_truncated_; }
  // Bytes of the files as stored, which may be compressed.
  std::uint64_t bytes_read() const { return bytes_before_ + batch_.bytes_read; }
  std::uint64_t total_bytes() const;  // queries the size of each file
  // Returns the approximate share of all files' bytes that next() has returned.
  double share_read() const;

 private:
  bool take_batch();
  Event end_file();

  std::vector<std::string> files_;
  TextFormat format_;
  TextFaults faults_;
  int threads_;
  std::unique_ptr<FilePrefetcher> ahead_;
  std::size_t opened_ = 0;  // files opened so far, the current one included
  bool in_file_ = false, was_truncated_ = false;
  std::uint64_t bytes_before_ = 0;  // bytes of the files that ended
  std::uint64_t batch_begin_ = 0;   // bytes of the current file before batch_
  LineBatch batch_;
  std::size_t item_ = 0, fault_ = 0;  // next item and fault in batch_
};

}  // namespace smelt::text
