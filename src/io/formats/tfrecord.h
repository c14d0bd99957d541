// The TFRecord format: a sequence of records (docs/reference/formats/tfrecord.md). Works on bytes
// and does not access files. Invalid data throws UsageError "<file>: record at offset <byte>:
// <what>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smelt::io {

// A record consists of: u64 length, u32 masked CRC-32C of the length, the data, u32 masked CRC-32C
// of the data. All numbers are little-endian.
constexpr std::size_t kRecordHeaderBytes = 12;
constexpr std::size_t kRecordFooterBytes = 4;

// The position of a record, for messages.
struct RecordPlace {
  std::string_view file;
  std::uint64_t offset = 0;  // position of the record's first header byte
};

void append_record(std::string& out, std::string_view data);

// Returns whether `head` begins with a record header whose checksum is correct.
bool begins_record(std::string_view head);

// Returns the data length in a record header. `available` is the number of bytes from the record's
// offset to the end of the file. Throws UsageError for a truncated header or record.
std::uint64_t parse_record_header(std::string_view header, std::uint64_t available,
                                  const RecordPlace& place);

// Verifies the checksum in a record's footer and returns the data.
std::string_view check_record_data(std::string_view data_and_footer, const RecordPlace& place);

// Returns the data of a record that must have `size` bytes including its framing. `bytes` is the
// file's content from the record on.
std::string_view parse_record(std::string_view bytes, std::uint64_t size, const RecordPlace& place);

// The records of a file held in memory. The bytes must outlive the reader and its records.
class RecordReader {
 public:
  explicit RecordReader(std::string_view bytes, std::string_view file = "tfrecord")
      : bytes_(bytes), file_(file) {}
  std::optional<std::string_view> next();  // nullopt at the end

 private:
  std::string_view bytes_;
  std::string_view file_;
  std::uint64_t at_ = 0;
};

}  // namespace smelt::io
