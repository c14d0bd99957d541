#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/crc32c.h"
#include "io/formats/token_store.h"

namespace smelt {
namespace {

std::string store_of(std::size_t id_bytes, std::int32_t count) {
  std::string bytes;
  io::TokenStoreWriter store({.size = 100, .crc32c = 7}, id_bytes,
                             [&](std::string_view more) { bytes += more; });
  for (std::int32_t id = 0; id < count; ++id) {
    store.add({&id, 1});
    if (id % 3 == 2) store.end_document();
  }
  store.finish();
  return bytes;
}

void set_crc(std::string& bytes, std::size_t at, std::uint32_t crc) {
  for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(crc >> (8 * i));
}

// Recomputes the checksums of the foot, of the document ends, and of the tokens if these are a
// single block.
void repair(std::string& bytes) {
  if (bytes.size() < 16 + 48 + 4) return;
  const std::string_view all = bytes;
  const std::string_view foot = all.substr(all.size() - 48);
  set_crc(bytes, all.size() - 12, io::crc32c(foot.substr(0, 36), io::crc32c(all.substr(0, 16))));
  const std::size_t ends = 8 * static_cast<unsigned char>(foot[8]);
  const std::size_t between = all.size() - 16 - 48, tail = ends > 0 ? ends + 4 : 0;
  if (between < tail + 4) return;
  const std::size_t tokens = between - tail - 4;
  set_crc(bytes, 16 + tokens, io::crc32c(all.substr(16, tokens)));
  if (ends > 0) set_crc(bytes, 16 + tokens + 4 + ends, io::crc32c(all.substr(20 + tokens, ends)));
}

}  // namespace

FuzzTarget fuzz_target() {
  return {.seeds = {store_of(2, 7), store_of(4, 20), store_of(4, 0)},
          .words = {"SMELTTOK", std::string(8, '\xff')},
          .repair = repair,
          .memory_base = 4096,
          .memory_factor = 16};
}

}  // namespace smelt

// Whatever the foot contains, only bytes inside the file may be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string_view text = text_of(data, size);
  const std::size_t foot = std::min(size, io::kTokenStoreFootBytes);
  try {
    const io::TokenStoreLayout layout = io::parse_token_store(
        text.substr(0, io::kTokenStoreHeadBytes), text.substr(size - foot), size, "input");
    CHECK(layout.tokens <= size && layout.documents <= size, layout.tokens);
    const io::TokenBlocks tokens = io::blocks_of_tokens(layout, 0, layout.tokens),
                          ends = io::blocks_of_ends(layout, 0, layout.documents);
    CHECK(tokens.offset + tokens.bytes <= size && ends.offset + ends.bytes <= size, size);
    std::vector<std::int32_t> ids(layout.tokens);
    io::decode_tokens(layout, tokens, text.substr(tokens.offset, tokens.bytes), "input", ids);
    std::vector<std::uint64_t> found(layout.documents);
    io::decode_ends(ends, text.substr(ends.offset, ends.bytes), "input", found);
  } catch (const UsageError&) {
  }
  return 0;
}
