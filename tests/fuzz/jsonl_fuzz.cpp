#include "base/error.h"
#include "fuzz/target.h"
#include "text/readers/documents.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {
      .seeds = {"{\"text\": \"One. Two!\\nThree\"}\n{\"id\": 3, \"text\": \"\\u00e9t\\u00e9\"}\n",
                "{\"text\": \"\"}\n\n{\"text\": \"x\"}", "{\"text\": [1, {\"text\": null}]}"},
      .words = {"{\"text\": \"", "\"}\n", "\\n", "\\u0000", "\\ud83d\\ude00", "\\ud800", "\n",
                "\r\n", "1e999", "[[", "\xef\xbb\xbf", "\xc2\x85", "null"},
      .repair = {},
      .memory_base = std::size_t{24}
                     << 20,  // buffers of the file and the dictionaries of sentence breaks
      .memory_factor = 512};
}

}  // namespace smelt

// Checks that no document or sentence is empty, and that the text is no longer than the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string& path = input_file(data, size, ".jsonl");
  for (const text::Cut sentences : {text::Cut::lines, text::Cut::prose}) try {
      text::DocumentOptions options;
      options.input = path;
      options.format.file = text::FileFormat::jsonl;
      options.sentences = sentences;
      text::DocumentReader reader(options);
      std::size_t bytes = 0;
      for (text::Document document; reader.next(document);) {
        CHECK(document.size() > 0);
        for (std::size_t i = 0; i < document.size(); ++i) CHECK(!document.sentence(i).empty(), i);
        bytes += document.text.size();
      }
      CHECK(bytes <= size, bytes, " of ", size);
    } catch (const UsageError&) {
    }
  return 0;
}
