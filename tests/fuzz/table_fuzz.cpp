#include <algorithm>

#include "base/error.h"
#include "fuzz/target.h"
#include "text/readers/rows.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {
      .seeds = {"text\tlabel\nOne.\t1\nTwo\t\n", "\xef\xbb\xbflabel,text\r\n1,One.\r\n",
                "text,label\n\"a \"\"b\"\", c\nd\",1\n\n\"\",\n", "\"text\",\"label\"\nx,y"},
      .words = {"\"", "\"\"", ",", "\t", "\n", "\r\n", "\",\"", "\n\"", "text", "label", "\xff"},
      .repair = {},
      .memory_base = 1 << 20,  // buffers of the file
      .memory_factor = 512};
}

}  // namespace smelt

// Checks that every row has both fields, and that all fields together are no longer than the input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string& path = input_file(data, size, ".table");
  for (const text::Header header : {text::Header::names, text::Header::skipped})
    for (const text::FileFormat format : {text::FileFormat::tsv, text::FileFormat::csv}) try {
        const bool named = header == text::Header::names;
        const auto rows = text::open_rows(
            path, format, {{.name = named ? "text" : "1"}, {.name = named ? "label" : "-1"}},
            [](const text::TextFault&) {}, header);
        std::size_t bytes = 0;
        for (std::vector<std::string> row; rows->next(row);) {
          CHECK(row.size() == 2, row.size());
          bytes += named ? row[0].size() + row[1].size() : std::max(row[0].size(), row[1].size());
        }
        CHECK(bytes <= size && rows->bytes_read() <= size, bytes, " of ", size);
      } catch (const UsageError&) {
      }
  return 0;
}
