#include <algorithm>

#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/crc32c.h"
#include "io/formats/tfrecord.h"

namespace smelt {
namespace {

void put_crc(std::string& bytes, std::size_t from, std::size_t size) {
  const std::uint32_t crc = io::mask_crc(io::crc32c(std::string_view(bytes).substr(from, size)));
  for (std::size_t i = 0; i < 4; ++i) bytes[from + size + i] = static_cast<char>(crc >> (8 * i));
}

// Recomputes the records' checksums, up to the first length that exceeds the file.
void repair(std::string& bytes) {
  for (std::size_t at = 0; bytes.size() - at >= io::kRecordHeaderBytes;) {
    put_crc(bytes, at, 8);
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i)
      length |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    at += io::kRecordHeaderBytes;
    if (bytes.size() - at < io::kRecordFooterBytes ||
        length > bytes.size() - at - io::kRecordFooterBytes)
      return;
    put_crc(bytes, at, length);
    at += length + io::kRecordFooterBytes;
  }
}

}  // namespace

FuzzTarget fuzz_target() {
  std::string file;
  for (const std::string_view record : {"hello", "", "a longer record of some words"})
    io::append_record(file, record);
  return {.seeds = {file},
          .words = {std::string(8, '\0')},
          .repair = repair,
          .memory_base = 4096,
          .memory_factor = 4};
}

}  // namespace smelt

// Writing the records again must give the bytes that were read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string_view bytes = text_of(data, size);
  std::string again;
  try {
    io::RecordReader reader(bytes, "input");
    while (const auto record = reader.next()) io::append_record(again, *record);
  } catch (const UsageError&) {
  }
  CHECK(bytes.starts_with(again), again.size());
  try {
    if (size > 0) io::parse_record(bytes, size, {"input", 0});
  } catch (const UsageError&) {
  }
  return 0;
}
