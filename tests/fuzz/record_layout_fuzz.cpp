#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/crc32c.h"
#include "io/formats/record_layout.h"

namespace smelt {
namespace {

void repair(std::string& bytes) {
  if (bytes.size() < 16) return;
  const std::uint32_t crc = io::crc32c(std::string_view(bytes).substr(16));
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<char>(crc >> (8 * i));
}

}  // namespace

FuzzTarget fuzz_target() {
  io::RecordLayout layout, without;
  for (const std::uint64_t size : {300, 16, 70000})
    layout.sizes.push_back(size), layout.tokens.push_back(size / 100);
  without.sizes.push_back(20);
  return {.seeds = {io::encode_record_layout(layout), io::encode_record_layout(without),
                    io::encode_record_layout({})},
          .words = {"SMELTIDX"},
          .repair = repair,
          .memory_base = 4096,
          .memory_factor = 8};
}

}  // namespace smelt

// Encoding the decoded layout must give the input again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const io::RecordLayout layout = io::decode_record_layout(text_of(data, size), "input");
    (void)layout.file_size();
    for (std::size_t i = 0; i < layout.sizes.size(); ++i) (void)layout.sizes[i];
    for (std::size_t i = 0; i < layout.tokens.size(); ++i) (void)layout.tokens[i];
    const std::string again = io::encode_record_layout(layout);
    CHECK(again == text_of(data, size) || layout.sizes.size() == 0);
  } catch (const UsageError&) {
  }
  return 0;
}
