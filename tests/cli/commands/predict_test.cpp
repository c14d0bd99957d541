// smelt predict as a user runs it, with a model folder of transformers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;

TEST(Predict, TableRowsGiveTheSamePredictionsAsTexts) {
  REQUIRE_PLUGIN("cpu");
  const TempDir dir;
  GoldenClassify("bert").write_folder(dir.file("model"));
  io::write_file(dir.file("rows.tsv"), "gj04\t1\t*\tcat w9\ngj04\t0\t\tdog \"w10\n");
  const std::string predict = "predict " + dir.file("model") + " --json ";
  const auto printed = [&](const std::string& flags) {
    return run_command(str("(", smelt_program(), " ", predict, flags, " 2>/dev/null)"));
  };
  const CommandOutput rows =
      printed(str("--input ", dir.file("rows.tsv"), " --header none --field 4 --label-field 2"));
  const CommandOutput texts = printed("--text 'cat w9' --text 'dog \"w10'");
  ASSERT_EQ(rows.status, 0) << rows.text;
  ASSERT_EQ(texts.status, 0) << texts.text;
  const auto got = split(trim(rows.text), '\n'), want = split(trim(texts.text), '\n');
  ASSERT_EQ(got.size(), 2u) << rows.text;
  ASSERT_EQ(want.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    auto row = Json::parse(got[i]);
    EXPECT_EQ(row["label"], i == 0 ? "1" : "0");
    row.erase("label");
    EXPECT_EQ(row, Json::parse(want[i]));
  }
  expect_refusal(predict + "--text cat --header none",
                 HasSubstr("predict: --header without --input\n  hint: add --input FILE"));
  const std::string to_file = str("--text cat --out ", dir.file("p.jsonl"));
  io::write_file(dir.file("p.jsonl"), "old");
  expect_refusal(predict + to_file, HasSubstr("p.jsonl exists already\n  hint: name another file"));
  EXPECT_EQ(printed(to_file + " --overwrite").status, 0);
  EXPECT_THAT(io::read_file(dir.file("p.jsonl")), HasSubstr("prediction"));
  expect_refusal(str(predict, "--input ", dir.file("rows.tsv"), " --header non"),
                 HasSubstr("--header 'non' is unknown\n  hint: did you mean 'none'?"));
  expect_refusal(predict + "--text cat --no-answer-threshold 2",
                 HasSubstr("--no-answer-threshold: this model was not trained with questions that "
                           "have no answer\n  hint: remove --no-answer-threshold"));
}

TEST(Predict, NoAnswerThresholdSelectsNoAnswer) {
  REQUIRE_PLUGIN("cpu");
  const TempDir dir;
  GoldenClassify("bert-spans").write_folder(dir.file("model"));
  Json config = Json::parse(io::read_file(dir.file("model/config.json")));
  config["answers"] = {{"question_tokens", 2}, {"doc_stride", 2}, {"answer_tokens", 3}};
  io::write_file(dir.file("model/config.json"), config.dump());
  const auto said = [&](const char* threshold) {
    const CommandOutput out =
        run_command(str("(", smelt_program(), " predict ", dir.file("model"),
                        " --text 'cat w9' --pair 'dog w10 bird' --json --no-answer-threshold ",
                        threshold, " 2>/dev/null)"));
    EXPECT_EQ(out.status, 0) << out.text;
    return Json::parse(out.text);
  };
  const Json never = said("-1e6"), always = said("1e6");
  EXPECT_EQ(never["prediction"], "");
  EXPECT_NE(always["prediction"], "");
  EXPECT_EQ(never["best"], always["prediction"]);
  EXPECT_EQ(never["begin"], always["begin"]);
  const CommandOutput piped = run_command(
      str(R"((echo '{"question": "cat w9", "context": "dog w10 bird"}' | )", smelt_program(),
          " predict ", dir.file("model"), " --json --no-answer-threshold 1e6 2>/dev/null)"));
  EXPECT_EQ(Json::parse(piped.text)["prediction"], always["prediction"]);
}

}  // namespace
}  // namespace smelt::cli
