// A file for readers of Arrow's own, such as Parquet's.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <string>

namespace smelt {

// A local file or an object. UsageError when an object cannot be opened; Arrow's own status for a
// local file.
arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> open_arrow_file(
    const std::string& path);

}  // namespace smelt
