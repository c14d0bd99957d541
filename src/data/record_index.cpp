#include "data/record_index.h"

#include <algorithm>

#include "base/error.h"
#include "format/tfrecord.h"
#include "store/random_access_file.h"

namespace smelt {

RecordIndex::RecordIndex(std::vector<std::string> files) : files_(std::move(files)) {
  for (const std::string& file : files_) scan(file);
  if (size() == 0)
    throw UsageError(str(join(files_, ", "), ": no records"), "make the data again, or give other files");
}

void RecordIndex::scan(const std::string& path) {
  const RandomAccessFile file(path);
  std::vector<std::uint64_t> offsets;
  std::uint64_t offset = 0;
  while (offset < file.size()) {
    offsets.push_back(offset);
    char header[kRecordHeaderBytes];
    const std::size_t count = file.read_at(offset, header);
    const auto length = parse_record_header({header, count}, file.size() - offset, {path, offset});
    offset += kRecordHeaderBytes + length + kRecordFooterBytes;
  }
  first_.push_back(first_.back() + offsets.size());
  offsets.push_back(offset);
  offsets_.push_back(std::move(offsets));
}

std::size_t RecordIndex::file_of(std::uint64_t record) const {
  CHECK(record < size(), record, " of ", size());
  const auto after = std::upper_bound(first_.begin(), first_.end(), record);
  return static_cast<std::size_t>(after - first_.begin()) - 1;
}

std::string RecordIndex::read(std::uint64_t record) const {
  const std::size_t number = file_of(record);
  const std::uint64_t* offset = &offsets_[number][record - first_[number]];
  const RecordPlace place{files_[number], offset[0]};
  // Opened anew for each record: a data set may have more files than a process may hold open.
  const RandomAccessFile file(files_[number]);
  std::string bytes(offset[1] - offset[0], '\0');
  bytes.resize(file.read_at(offset[0], bytes));
  const auto length = parse_record_header(std::string_view(bytes).substr(0, kRecordHeaderBytes),
                                          bytes.size(), place);
  const auto rest =
      std::string_view(bytes).substr(kRecordHeaderBytes, length + kRecordFooterBytes);
  return std::string(check_record_data(rest, place));
}

std::string RecordIndex::place(std::uint64_t record) const {
  const std::size_t number = file_of(record);
  return str(files_[number], ": record ", record - first_[number]);
}

}  // namespace smelt
