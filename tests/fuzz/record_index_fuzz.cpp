
#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_index_file.h"
#include "fuzz/target.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "io/formats/tfrecord.h"

namespace smelt {
namespace {

const std::vector<std::string>& records() {
  static const std::vector<std::string> all{"hello", "", "a longer record", "hello", "x"};
  return all;
}

std::string record_file() {
  std::string bytes;
  for (const std::string& record : records()) io::append_record(bytes, record);
  return bytes;
}

void repair(std::string& bytes) {
  if (bytes.size() < 16) return;
  const std::uint32_t crc = io::crc32c(std::string_view(bytes).substr(16));
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<char>(crc >> (8 * i));
}

}  // namespace

FuzzTarget fuzz_target() {
  set_log_level(LogLevel::off);  // rejecting an index is no finding
  const std::string file = record_file();
  io::RecordLayout layout, wide;
  std::copy_n(file.begin(), 12, layout.ends.begin());
  std::copy_n(file.end() - 4, 4, layout.ends.begin() + 12);
  for (const std::string& record : records()) {
    layout.sizes.push_back(16 + record.size());
    layout.tokens.push_back(record.size());
  }
  wide = layout;
  wide.sizes = {};
  for (const std::uint64_t size : {std::uint64_t{1} << 63, std::uint64_t{1} << 63, file.size()})
    wide.sizes.push_back(size);
  wide.tokens = {};
  return {.seeds = {io::encode_record_layout(layout), io::encode_record_layout(wide)},
          .words = {std::string(1, '\x10'), std::string(1, '\x15'), std::string(8, '\xff')},
          .repair = repair,
          .memory_base = 5 << 20,  // buffer for reading headers
          .memory_factor = 64};
}

}  // namespace smelt

// The input is the index of a file of records. Whatever it contains, each record that is read must
// be one of the file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string& index_path = input_file(data, size, ".tfrecord.index");
  const std::string path = index_path.substr(0, index_path.size() - std::string(".index").size());
  CHECK(data::record_index_path(path) == index_path, index_path);
  io::write_file(path, record_file());
  const data::RecordIndex index({path});
  CHECK(index.bytes() == record_file().size(), index.bytes());
  std::vector<std::string> read;
  for (std::uint64_t record = 0; record < index.size(); ++record) {
    try {
      read.push_back(index.read(record));
    } catch (const UsageError&) {
    }
  }
  for (const std::string& one : read)
    CHECK(std::ranges::find(records(), one) != records().end(), one);
  return 0;
}
