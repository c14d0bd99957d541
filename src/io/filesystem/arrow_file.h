// An input file for Arrow's readers, such as Parquet's.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

namespace smelt::io {

// Wraps a file and remembers I/O errors, because Arrow's readers report a damaged file and a
// storage failure in the same way.
class ArrowFile {
 public:
  // Opens a local file or an object. Throws UsageError or SystemError if it cannot be opened.
  explicit ArrowFile(const std::string& path);
  const std::shared_ptr<arrow::io::RandomAccessFile>& get() const { return file_; }
  // Throws the I/O error if reading has failed: UsageError for a missing permission, otherwise
  // SystemError.
  void check() const;

 private:
  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

}  // namespace smelt::io
