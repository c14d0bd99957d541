// smelt data overview as a user runs it; tests/data/preprocess/row_overview_test.cpp tests its
// content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "support/command.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

TEST(DataOverview, SelectsColumnsByNumberWithoutAHeader) {
  const TempDir dir;
  io::write_file(dir.file("rows.tsv"), "x\tyes\ta text\nx\tno\tanother\n");
  const CommandOutput result = run_smelt(str("data overview ", dir.file("rows.tsv"),
                                             " --header none --field -1 --label-field 2 --json"));
  ASSERT_EQ(result.status, 0) << result.text;
  const auto split = Json::parse(result.text)["splits"][0];
  EXPECT_EQ(split["labels"], Json({{"no", 1}, {"yes", 1}}));
  EXPECT_EQ(split["lengths"]["longest"], 2);
  expect_refusal(str("data overview ", dir.file("rows.tsv"), " --header non"),
                 HasSubstr("--header 'non' is unknown\n  hint: did you mean 'none'?"));
}

TEST(DataOverview, CountsWordLabelsOfAConllFile) {
  const TempDir dir;
  io::write_file(dir.file("ner.conll"), "EU B-ORG\nsays O\n\nEU B-ORG\n");
  const CommandOutput result = run_smelt(str("data overview ", dir.file("ner.conll"), " --json"));
  ASSERT_EQ(result.status, 0) << result.text;
  EXPECT_EQ(Json::parse(result.text)["splits"][0]["labels"], Json({{"B-ORG", 2}, {"O", 1}}));
}

TEST(DataOverview, ReadsTheSplitsOfAGlueTask) {
  const TempDir dir;
  for (const char* file : {"train", "dev_matched", "dev_mismatched"})
    io::write_file(dir.file(str("glue/MNLI/", file, ".tsv")),
                   str("header\n1\t2\t3\t4\t5\t6\t7\t8\t", file, "\ta b\tv\tneutral\n"));
  const std::string glue = "data overview --glue mnli " + dir.file("glue");
  const CommandOutput result = run_smelt(glue + " --json");
  ASSERT_EQ(result.status, 0) << result.text;
  const auto splits = Json::parse(result.text)["splits"];
  ASSERT_EQ(splits.size(), 3u);
  EXPECT_EQ(splits[2]["split"], "dev_mismatched");
  for (const auto& split : splits) {
    EXPECT_EQ(split["labels"], Json({{"neutral", 1}}));
    EXPECT_EQ(split["lengths"]["longest"], 3);
  }
  expect_refusal(glue + " --field text",
                 HasSubstr("data overview: --glue with --field\n  hint: remove the flag"));
  expect_refusal(str(glue, " ", dir.file("other")),
                 HasSubstr("data overview: --glue with 2 files\n  hint: name the folder"));
  expect_refusal("data overview --glue rte " + dir.file("glue"),
                 HasSubstr(dir.file("glue/RTE/train.tsv")));
}

}  // namespace
}  // namespace smelt::cli
