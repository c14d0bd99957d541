#include "base/error.h"
#include "data/input_pipeline/description.h"
#include "fuzz/target.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {
      .seeds = {R"({"kind": "bert", "files": ["a.tfrecord", "b"], "examples": 12, "seq_length": 128,
                        "max_predictions": 20, "vocabulary": {"file": "vocab.txt", "crc32c": 305419896},
                        "masked_tokens": 99, "text": {"files": [], "documents": 1}})",
                "{}", "[]"},
      .words = {"\"files\"", "\"examples\"", "\"vocabulary\"", "\"crc32c\"", "\"seq_length\"",
                "null", "1e999", "-1", "18446744073709551616", "[[", "{\"a\":", "\\u0000",
                "\\ud800", "true"},
      .repair = {},
      .memory_base = 1 << 14,
      .memory_factor = 256};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  try {
    const data::DataDescription description = data::parse_description(text_of(data, size), "input");
    data::check_description(description,
                            {.examples = 12, .vocab = "", .settings = {{"seq_length", 128}}});
  } catch (const UsageError&) {
  }
  return 0;
}
