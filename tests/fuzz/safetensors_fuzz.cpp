#include "fuzz/target.h"
#include "io/formats/little_endian.h"
#include "io/formats/safetensors.h"

namespace smelt {
namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string file;
  io::append_little_endian(file, std::uint64_t{header.size()});
  return file + header + data;
}

// Corrects the header's length, if the last brace ends the header.
void repair(std::string& bytes) {
  const std::size_t end = bytes.rfind('}');
  if (bytes.size() < 8 || end == std::string::npos || end < 8) return;
  const auto length = io::to_little_endian(std::uint64_t{end + 1 - 8});
  bytes.replace(0, 8, length.data(), length.size());
}

}  // namespace

FuzzTarget fuzz_target() {
  const std::string seven(7, 'x');
  return {.seeds = {file_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                            R"("b":{"dtype":"BF16","shape":[1,2],"data_offsets":[3,7]}})",
                            seven),
                    file_of(R"({"__metadata__":{"format":"pt"},)"
                            R"("c":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                            seven.substr(3)),
                    file_of("{}", "")},
          .words = {"\"__metadata__\":", "\"data_offsets\":", "18446744073709551615", "[[", "-1",
                    "1e999", "null", "\\ud800", "\"shape\":[0,"},
          .repair = repair,
          .memory_base = 1 << 18,
          .memory_factor = 512};
}

}  // namespace smelt

// Writing and reading the tensors again must give the same tensors.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const io::SafetensorsFile file(std::string(text_of(data, size)), "input");
    std::size_t bytes = 0;
    for (const auto& [name, tensor] : file.tensors()) bytes += tensor.data.size();
    CHECK(bytes <= size, bytes);
    const io::SafetensorsFile again(io::safetensors_bytes(file.tensors(), file.metadata()),
                                    "again");
    CHECK(again.metadata() == file.metadata());
    CHECK(again.tensors().size() == file.tensors().size());
    for (const auto& [name, tensor] : file.tensors()) {
      CHECK(again.at(name).shape == tensor.shape, name);
      CHECK(std::ranges::equal(again.at(name).data, tensor.data), name);
    }
  } catch (const UsageError&) {
  }
  return 0;
}
