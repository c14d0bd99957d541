#include "base/error.h"
#include "base/json.h"
#include "fuzz/target.h"
#include "text/readers/rows.h"

namespace smelt {

FuzzTarget fuzz_target() {
  return {.seeds = {R"({"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "A b.",
                       "qas": [{"id": "1", "question": "Who?",
                                "answers": [{"text": "A", "answer_start": 0}]},
                               {"id": "2", "question": "b?", "answers": []}]}]}]})",
                    R"({"data": [{"paragraphs": [{"context": "x\u00e9", "qas": []},
                       {"context": "", "qas": [{"id": 3, "question": null}]}]}]})"},
          .words = {R"("data": [)", R"("paragraphs": [)", R"("qas": [)", R"("context": ")",
                    R"("answers": )", R"("id": ")", "{", "}", "[", "]", "},", "null", "1e999",
                    "\\u0000", "\\ud800", "\xff", "\xef\xbb\xbf"},
          .repair = {},
          .memory_base = std::size_t{4} << 20,  // the file is read in blocks of a megabyte
          .memory_factor = 512};
}

}  // namespace smelt

// Checks that every row has all fields, and that its answers are a JSON array.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string& path = input_file(data, size, ".squad");
  try {
    const auto rows = text::open_rows(path, text::FileFormat::squad,
                                      {{.name = "title"},
                                       {.name = "context"},
                                       {.name = "id"},
                                       {.name = "question"},
                                       {.name = "answers"}},
                                      [](const text::TextFault&) {});
    for (std::vector<std::string> row; rows->next(row);) {
      CHECK(row.size() == 5, row.size());
      CHECK(Json::parse_or_discard(row[4]).is_array(), row[4]);
    }
    CHECK(rows->bytes_read() <= size, rows->bytes_read(), " of ", size);
  } catch (const UsageError&) {
  }
  return 0;
}
