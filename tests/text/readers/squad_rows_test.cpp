// Questions of SQuAD files as rows.
#include "text/readers/squad_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Row = std::vector<std::string>;

class SquadFile : public testing::Test {
 protected:
  std::vector<Row> read(const std::string& content, const std::vector<Field>& fields) {
    io::write_file(dir_.file("q.json"), content);
    const auto rows = open_rows(dir_.file("q.json"), FileFormat::squad, fields,
                                [&](const TextFault& fault) { faults_.push_back(fault.what); });
    std::vector<Row> out;
    for (Row row; rows->next(row);) out.push_back(row);
    EXPECT_EQ(rows->bytes_read(), content.size());
    return out;
  }

  TempDir dir_;
  std::vector<std::string> faults_;
};

constexpr const char* kTwoTexts = R"({"version": "v2.0", "data": [
  {"title": "T", "paragraphs": [
    {"context": "one \u00e9", "qas": [
      {"id": "1", "question": "which?", "answers": [{"text": "one", "answer_start": 0}]},
      {"id": "2", "question": "why?", "is_impossible": true, "answers": []}]},
    {"context": "two", "qas": [{"id": "3", "question": "who?"}]}]}]})";

TEST_F(SquadFile, HasOneRowPerQuestion) {
  const auto rows = read(kTwoTexts, {{.name = "question"},
                                     {.name = "context"},
                                     {.name = "answers", .is_json = true},
                                     {.name = "id", .is_optional = true}});
  EXPECT_THAT(rows, ElementsAre(Row{"which?", "one é", R"([{"answer_start":0,"text":"one"}])", "1"},
                                Row{"why?", "one é", "[]", "2"}));
  EXPECT_THAT(faults_, ElementsAre("question 3 has no 'answers'"));
  faults_.clear();
  EXPECT_THAT(read(kTwoTexts, {{.name = "title"}, {.name = "question"}}),
              ElementsAre(Row{"T", "which?"}, Row{"T", "why?"}, Row{"T", "who?"}));
  EXPECT_TRUE(faults_.empty());
}

TEST_F(SquadFile, ThrowsForAnotherStructure) {
  const auto refusal = [&](const char* content, const char* field) {
    return error_of<UsageError>([&] { read(content, {{.name = field}}); });
  };
  EXPECT_THAT(refusal("{\"a\": 1}\n{\"a\": 2}\n", "question"),
              HasSubstr("q.json: not in the SQuAD format: it is not one JSON value"));
  EXPECT_THAT(refusal("[1]", "question"), HasSubstr("not in the SQuAD format: no list 'data'"));
  EXPECT_THAT(refusal(R"({"data": [{"paragraphs": [{"qas": []}]}]})", "question"),
              HasSubstr("not in the SQuAD format: no text 'context'"));
  EXPECT_THAT(refusal(kTwoTexts, "quesion"), HasSubstr("SQuAD files have no field 'quesion'"));
}

// JSONL and tables give the same answers.
TEST_F(SquadFile, JsonlAndTablesGiveTheSameAnswersJson) {
  const std::vector<Field> fields{{.name = "answers", .is_json = true},
                                  {.name = "id", .is_optional = true}};
  const auto of = [&](const std::string& name, const std::string& content) {
    io::write_file(dir_.file(name), content);
    const auto rows = open_rows(dir_.file(name), FileFormat::by_name, fields,
                                [&](const TextFault& fault) { faults_.push_back(fault.what); });
    std::vector<Row> out;
    for (Row row; rows->next(row);) out.push_back(row);
    return out;
  };
  EXPECT_THAT(of("a.jsonl", R"({"answers": {"text": ["x"], "answer_start": [1]}, "id": "7"})"
                            "\n"
                            R"({"answers": []})"
                            "\n"),
              ElementsAre(Row{R"({"answer_start":[1],"text":["x"]})", "7"}, Row{"[]", ""}));
  EXPECT_THAT(of("a.tsv", "answers\n[]\n"), ElementsAre(Row{"[]", ""}));
  EXPECT_TRUE(faults_.empty());
}

}  // namespace
}  // namespace smelt::text
