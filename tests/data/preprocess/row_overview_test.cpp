// The overview of a data set of rows: counts, comparisons between files, and its text.
#include "data/preprocess/row_overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RowOverview : public testing::Test {
 protected:
  RowOverviewJob::Split split(const char* name, const std::string& rows,
                              const char* ending = ".tsv") const {
    RowOverviewJob::Split out{.name = name, .files = {}};
    out.files.input = dir_.file(std::string(name) + ending);
    io::write_file(out.files.input, rows);
    return out;
  }
  TempDir dir_;
};

TEST_F(RowOverview, CountsEachSplit) {
  io::write_file(dir_.file("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n");
  RowOverviewJob job{
      .splits = {split("train", "text\tlabel\na b\tyes\na\tno\na z a b c\tno\nbad\n")},
      .vocab = dir_.file("vocab.txt"),
      .seq_length = 5};
  const OrderedJson found = row_overview(job);
  const OrderedJson& s = found["splits"][0];
  EXPECT_EQ(s["rows"], 3);
  EXPECT_EQ(s["left_out"], 1);
  EXPECT_EQ(s["labels"], OrderedJson({{"no", 2}, {"yes", 1}}));
  EXPECT_EQ(s["lengths"], OrderedJson({{"unit", "tokens"},
                                       {"median", 4},
                                       {"p90", 7},
                                       {"p99", 7},
                                       {"longest", 7},
                                       {"limit", 5},
                                       {"cut", 1}}));
  EXPECT_EQ(s["unknown_tokens"], 1.0 / 8);
  EXPECT_THAT(found["findings"],
              ElementsAre("train: 1 class has only one example: yes",
                          "train: 1 row cannot be read and would be left out",
                          "train: 1 row (33.3 %) are cut to 5 tokens; 99 % have up to 7",
                          "train: 12.5 % of the tokens are unknown to the vocabulary"));
}

TEST_F(RowOverview, NamesLabelsInSeveralUnicodeForms) {
  const auto found = row_overview(
      {.splits = {split("train", "text\tlabel\na\tcafe\u0301\nb\tcaf\u00E9\nc\tno\nd\tno\n")}});
  EXPECT_EQ(found["splits"][0]["labels"], OrderedJson({{"caf\u00E9", 2}, {"no", 2}}));
  EXPECT_THAT(found["findings"],
              ElementsAre("train: labels in several Unicode forms (NFC, NFD), treated as one: "
                          "caf\u00E9"));
}

TEST_F(RowOverview, NamesLabelsThatDifferOnlyInCase) {
  const auto found =
      row_overview({.splits = {split("train",
                                     "text\tlabel\na\t\u00CCt\u00E0n\nb\t\u00ECT\u00C0N\nc\tno\n"
                                     "d\tno\ne\t\u00CCt\u00E0n\nf\t\u00ECT\u00C0N\n")}});
  EXPECT_THAT(found["findings"],
              ElementsAre("train: labels that differ only in case are different classes: "
                          "\u00CCt\u00E0n, \u00ECT\u00C0N"));
}

TEST_F(RowOverview, ReportsFilesWithoutRows) {
  EXPECT_THAT(row_overview({.splits = {split("hdr", "text\tlabel\n")}})["findings"],
              ElementsAre("hdr: holds no row that can be read"));
  EXPECT_THAT(error_of<UsageError>([&] { row_overview({.splits = {split("none", "")}}); }),
              HasSubstr("none.tsv: is empty, expected a line with the column names"));
}

TEST_F(RowOverview, CountsLabelsBeyondTheMaximumStored) {
  std::string rows = "text\tlabel\n";
  for (int i = 0; i < 10002; ++i) rows += str("a\tc", i, "\n");
  const auto found =
      row_overview({.splits = {split("train", rows), split("test", "text\tlabel\na\tc10001\n")}});
  EXPECT_EQ(found["splits"][0]["different_labels"], 10002);
  EXPECT_FALSE(found["splits"][1].contains("unknown_labels"));
}

TEST_F(RowOverview, FindsTheSameTextWithinAndAcrossSplits) {
  RowOverviewJob job{
      .splits = {split("train", "text\tlabel\nA  cat\tx\na cat\ty\na cat\tx\nb\ty\n"),
                 split("test", "text\tlabel\na CAT\tx\nb\ty\nc\tz\nc\tz\n")}};
  const OrderedJson found = row_overview(job);
  const OrderedJson &train = found["splits"][0], &test = found["splits"][1];
  EXPECT_EQ(train["same_text"], 2);
  EXPECT_EQ(train["same_text_other_label"], 2);
  EXPECT_EQ(test["same_text"], 1);
  EXPECT_EQ(test["same_text_other_label"], 0);
  EXPECT_EQ(test["shared"],
            OrderedJson::array({{{"split", "train"}, {"rows", 2}, {"other_label", 1}}}));
  EXPECT_EQ(test["unknown_labels"], OrderedJson({{"z", 2}}));
  ASSERT_EQ(found["examples"].size(), 5u);
  EXPECT_EQ(found["examples"][0]["what"], "same text, another label");
  EXPECT_EQ(found["examples"][0]["text"], "A  cat");
  EXPECT_THAT(found["examples"][0]["labels"], ElementsAre("x", "y"));
  EXPECT_THAT(found["examples"][0]["places"][1].get<std::string>(), HasSubstr("train.tsv:3"));
  EXPECT_THAT(overview_text(found), HasSubstr("  * test: 1 label that training does not have: z\n"
                                              "  * test: 2 rows (50.0 %) are also in train"));
}

TEST_F(RowOverview, KnownClassNamesMayContainCommas) {
  RowOverviewJob job{.splits = {split("train", "text\tlabel\na\tlions, tigers,bears\nb\tbears\n")},
                     .problem = io::Problem::multi_label};
  job.splits[0].files.known = {"lions, tigers", "bears"};
  EXPECT_EQ(row_overview(job)["splits"][0]["labels"],
            OrderedJson({{"bears", 2}, {"lions, tigers", 1}}));
}

TEST_F(RowOverview, DoesNotJoinTheTextsOfAPair) {
  RowOverviewJob job{.splits = {split("train", "text\tpair\tlabel\na b\tc\tx\na\tb c\tx\n")}};
  job.splits[0].files.pair = "pair";
  EXPECT_EQ(row_overview(job)["splits"][0]["same_text"], 0);
}

TEST_F(RowOverview, DescribesNumbersAndAnswers) {
  RowOverviewJob numbers{.splits = {split("train", "text\tlabel\na\t1\nb\t4.5\n")},
                         .problem = io::Problem::regression};
  EXPECT_EQ(row_overview(numbers)["splits"][0]["numbers"],
            OrderedJson({{"least", 1.0}, {"mean", 2.75}, {"largest", 4.5}}));
  RowOverviewJob answers{.splits = {split("train", "text\tlabel\na\tb c\nb\td\n")},
                         .are_classes = false};
  const OrderedJson found = row_overview(answers);
  EXPECT_EQ(found["splits"][0]["label_lengths"]["longest"], 2);
  EXPECT_FALSE(found["splits"][0].contains("labels"));
  EXPECT_THAT(overview_text(found), HasSubstr("no problems found"));
}

TEST_F(RowOverview, RejectsAMissingColumn) {
  RowOverviewJob job{.splits = {split("train", "text\tkind\na\tx\n")}};
  EXPECT_THAT(error_of([&] { row_overview(job); }), HasSubstr("no column 'label'"));
}

}  // namespace
}  // namespace smelt::data
