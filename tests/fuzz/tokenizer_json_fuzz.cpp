#include "base/error.h"
#include "fuzz/target.h"
#include "text/tokenizers/tokenizer_json.h"

namespace smelt {

FuzzTarget fuzz_target() {
  const text::Vocabulary vocabulary({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##s"});
  return {.seeds = {text::tokenizer_json(vocabulary, {}), "{}"},
          .words = {"\"model\"", "\"vocab\"", "\"normalizer\"", "null", "true", "-1", "1e999",
                    "18446744073709551616", "[[", "{\"a\":", "\\ud800"},
          .repair = {},
          .memory_base = 1 << 18,
          .memory_factor = 512};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const text::WordPieceModel model =
        text::parse_tokenizer_json(text_of(data, size), "tokenizer.json");
    CHECK(model.vocabulary.size() > 0);
  } catch (const UsageError&) {
  }
  return 0;
}
