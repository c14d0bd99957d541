#include "base/error.h"
#include "fuzz/target.h"
#include "text/readers/rows.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {.seeds = {"-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\n",
                    "# id = 1\n1\tIn\tO\n2-3\tdel\t_\n2\tde\tO\n\n\n1\tBerlin\tB-LOC\n",
                    "# a comment\r\nWien B-LOC\r\n\r\n# O\r\n. O"},
          .words = {"\n", "\n\n", "\r\n", "\t", " ", "# ", "-DOCSTART-", "=", "O", "B-", "I-", "1",
                    "1-2", "1.1", "\xc2\xa0", "\xff", "\xef\xbb\xbf"},
          .repair = {},
          .memory_base = 1 << 20,  // buffers of the file
          .memory_factor = 512};
}

}  // namespace smelt

// Checks that a sentence has as many labels as words, that no word or label is empty, and that all
// rows together are no longer than the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string& path = input_file(data, size, ".conll");
  try {
    const auto rows =
        text::open_rows(path, text::FileFormat::conll, {{.name = "words"}, {.name = "labels"}},
                        [](const text::TextFault&) {});
    std::size_t bytes = 0;
    for (std::vector<std::string> row; rows->next(row);) {
      CHECK(row.size() == 2, row.size());
      const auto words = split(row[0], ' '), labels = split(row[1], ' ');
      CHECK(words.size() == labels.size(), words.size(), " words, ", labels.size(), " labels");
      for (std::size_t i = 0; i < words.size(); ++i)
        CHECK(!words[i].empty() && !labels[i].empty(), i);
      bytes += row[0].size() + row[1].size();
    }
    CHECK(bytes <= size && rows->bytes_read() <= size, bytes, " of ", size);
  } catch (const UsageError&) {
  }
  return 0;
}
