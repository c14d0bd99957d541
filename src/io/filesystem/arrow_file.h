// A file for readers of Arrow's own, such as Parquet's.
#pragma once

#include <arrow/io/interfaces.h>

#include <memory>
#include <string>

namespace smelt {

// Such readers tell a file that is damaged from a storage that fails by their words alone: the file
// remembers what the storage said.
class ArrowFile {
 public:
  // A local file or an object. UsageError or SystemError when it cannot be opened.
  explicit ArrowFile(const std::string& path);
  const std::shared_ptr<arrow::io::RandomAccessFile>& get() const { return file_; }
  // SystemError, or UsageError for want of permission, when reading failed.
  void check() const;

 private:
  std::string path_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

}  // namespace smelt
