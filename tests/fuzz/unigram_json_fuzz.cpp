#include "base/error.h"
#include "fuzz/target.h"
#include "text/tokenizers/unigram_json.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {.seeds = {R"({"added_tokens":[{"id":0,"content":"<pad>","special":true}],"normalizer":)"
                    R"({"type":"Sequence","normalizers":[{"type":"Precompiled",)"
                    R"("precompiled_charsmap":"AAAA"},{"type":"Replace","pattern":)"
                    R"({"Regex":" {2,}"},"content":" "}]},"pre_tokenizer":{"type":"Metaspace",)"
                    R"("replacement":"▁","prepend_scheme":"always"},"model":{"type":"Unigram",)"
                    R"("unk_id":1,"vocab":[["<pad>",0.0],["<unk>",0.0],["a",-1.5]]}})",
                    "{}"},
          .words = {"\"model\"", "\"vocab\"", "\"normalizer\"", "null", "true", "-1", "1e999",
                    "18446744073709551616", "[[", "<extra_id_0>", "\\ud800"},
          .repair = {},
          .memory_base = 1 << 18,
          .memory_factor = 512};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const text::UnigramJson read = text::parse_unigram_json(text_of(data, size), "tokenizer.json");
    CHECK(!read.model.empty() && read.extra_ids >= 0);
  } catch (const UsageError&) {
  }
  return 0;
}
