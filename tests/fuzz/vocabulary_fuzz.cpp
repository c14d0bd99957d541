#include "base/error.h"
#include "fuzz/target.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {.seeds = {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\n\xc3\xa9t\xc3\xa9\n",
                    "a\r\nb\r\nc", "one"},
          .words = {"\n", "\r", "\xef\xbb\xbf", "\xe2\x80\xa8", "\xc2\xa0", "[UNK]", "##"},
          .repair = {},
          .memory_base = 1 << 17,
          .memory_factor = 512};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const text::Vocabulary vocabulary = text::Vocabulary::load(input_file(data, size, ".txt"));
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.token(id).empty()) continue;  // an empty line takes an id but is no piece
      const auto found = vocabulary.find(vocabulary.token(id));  // of equal lines, the last one
      CHECK(found >= id && vocabulary.token(*found) == vocabulary.token(id), id);
    }
    vocabulary.check_special_tokens();
  } catch (const UsageError&) {
  }
  return 0;
}
