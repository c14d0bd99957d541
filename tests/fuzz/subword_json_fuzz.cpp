#include "base/error.h"
#include "fuzz/target.h"
#include "text/tokenizers/subword_tokenizer.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {
      .seeds =
          {R"({"added_tokens":[{"id":1,"content":"[MASK]","special":true,"lstrip":true}],)"
           R"("normalizer":{"type":"Sequence","normalizers":[{"type":"BertNormalizer",)"
           R"("handle_chinese_chars":false},{"type":"Precompiled","precompiled_charsmap":)"
           R"("BAAAAAABAAA="},{"type":"Strip"}]},"pre_tokenizer":{"type":)"
           R"("Metaspace","replacement":"▁","prepend_scheme":"first"},"model":{"type":"Unigram",)"
           R"("unk_id":0,"vocab":[["[UNK]",0.0],["[MASK]",0.0],["a",-1.5]]}})",
           R"({"normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"ByteLevel"},"post_processor":)"
           R"({"type":"ByteLevel","trim_offsets":true},"model":{"type":"BPE","vocab":{"a":0,"b":1,)"
           R"("ab":2},"merges":["a b"]}})"},
      .words = {"\"model\"", "\"vocab\"", "\"merges\"", "null", "true", "-1", "1e999", "999999",
                "[[", "Ġ", "\\ud800", "Lowercase"},
      .repair = {},
      .memory_base = 1 << 18,
      .memory_factor = 4096};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const text::SubwordTokenizer read(
        text::parse_subword_json(text_of(data, size), "tokenizer.json"), "t");
    std::vector<std::int32_t> ids;
    read.encode(" ab [MASK] é", ids);
    for (const std::int32_t id : ids) CHECK(id >= 0 && id < read.size(), id);
    CHECK(ids.size() == read.encode_with_offsets(" ab [MASK] é").size(), ids.size());
  } catch (const UsageError&) {
  }
  return 0;
}
