#include "store/arrow_file.h"

#include <arrow/io/file.h>

#include "store/object_store.h"

namespace smelt {

arrow::Result<std::shared_ptr<arrow::io::RandomAccessFile>> open_arrow_file(
    const std::string& path) {
  if (!is_remote(path)) return arrow::io::ReadableFile::Open(path);
  const Place place = resolve(path);
  return value_of(place.system->OpenInputFile(place.name), "open", place, Access::read);
}

}  // namespace smelt
