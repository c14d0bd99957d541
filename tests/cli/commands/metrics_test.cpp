// smelt metrics as a user runs it; tests/evaluation/metrics compares the scores with those of the
// reference implementations.
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

class Metrics : public testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    io::write_file(dir_.file(name), text);
    return dir_.file(name);
  }
  // Writes 40 examples with the labels yes and no. Every `wrong`-th has a wrong prediction.
  std::string labels(const std::string& name, int wrong) {
    std::string text;
    for (int i = 0; i < 40; ++i) {
      const bool yes = i % 3 == 0, predicted = (i % wrong == 0) != yes;
      text += str(R"({"label": ")", yes ? "yes" : "no", R"(", "prediction": ")",
                  predicted ? "yes" : "no", "\"}\n");
    }
    return file(name, text);
  }

  TempDir dir_;
};

TEST_F(Metrics, ScoresAndComparesTwoModels) {
  const std::string good = labels("good.jsonl", 20), bad = labels("bad.jsonl", 2);
  const CommandOutput result = run_smelt(
      str("metrics ", good, " --metric accuracy,f1-macro --against ", bad, " --report --json"));
  ASSERT_EQ(result.status, 0) << result.text;
  const auto got = Json::parse(result.text);
  EXPECT_EQ(got["examples"], 40);
  const auto& accuracy = got["metrics"]["accuracy"];
  EXPECT_EQ(accuracy["value"], 0.95);
  EXPECT_EQ(accuracy["against"]["value"], 0.5);
  EXPECT_LT(accuracy["low"], 0.95);
  EXPECT_LT(accuracy["p_value"], 0.01);
  EXPECT_EQ(accuracy["mcnemar"]["only_first"], 18);
  EXPECT_EQ(accuracy["mcnemar"]["only_second"], 0);
  EXPECT_GT(got["metrics"]["f1-macro"]["difference"]["low"], 0);
  EXPECT_THAT(got["metrics"]["report"].get<std::string>(), HasSubstr("weighted avg"));
}

TEST_F(Metrics, ReadsSeveralReferencesPerAnswerFromASecondFile) {
  const std::string given = file("p.jsonl", "{\"answer\": \"The cat\"}\n{\"answer\": \"\"}\n");
  const std::string right =
      file("r.jsonl", "{\"answers\": [\"dog\", \"cat\"]}\n{\"answers\": []}\n");
  const CommandOutput result =
      run_smelt(str("metrics ", given, " ", right,
                    " --prediction answer --reference answers --metric exact-match --samples 0"));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text, "exact-match         1.0000\n");
}

TEST_F(Metrics, ScoresWordLabelsPerWord) {
  const std::string rows =
      file("rows.jsonl",
           R"({"words": ["a", "b"], "label": ["N", "V"], "prediction": ["N", "N"]}
{"words": ["c", "d"], "label": ["N", "N"], "prediction": ["N", null]}
)");
  const CommandOutput result =
      run_smelt(str("metrics ", rows, " --metric accuracy,f1:V,f1:N --samples 0 --json --report",
                    " --against ", rows));
  ASSERT_EQ(result.status, 0) << result.text;
  const auto got = Json::parse(result.text)["metrics"];
  EXPECT_EQ(got["accuracy"]["value"], 0.5);
  EXPECT_EQ(got["f1:V"]["value"], 0);
  EXPECT_NEAR(got["f1:N"]["value"].get<double>(), 2.0 / 3, 1e-12);
  EXPECT_THAT(got["report"].get<std::string>(), HasSubstr("weighted avg"));
}

// The predictions of an evaluation have both a label and probabilities; each metric uses the field
// that it needs.
TEST_F(Metrics, ScoresProbabilitiesAndASingleClass) {
  const std::string rows =
      file("rows.jsonl",
           R"({"label": "yes", "prediction": "yes", "probabilities": {"yes": 0.8, "no": 0.2}}
{"label": "no", "prediction": "yes", "probabilities": {"yes": 0.6, "no": 0.4}}
{"label": "yes", "prediction": "no", "probabilities": {"yes": 0.4, "no": 0.6}}
{"label": "no", "prediction": "no", "probabilities": {"yes": 0.1, "no": 0.9}}
)");
  const CommandOutput result =
      run_smelt(str("metrics ", rows, " --metric f1:yes,accuracy,auc-macro --samples 0 --json"));
  ASSERT_EQ(result.status, 0) << result.text;
  const auto got = Json::parse(result.text)["metrics"];
  EXPECT_EQ(got["f1:yes"]["value"], 0.5);
  EXPECT_EQ(got["accuracy"]["value"], 0.5);
  EXPECT_EQ(got["auc-macro"]["value"], 0.75);
  expect_refusal(str("metrics ", rows, " --metric f1:yess"),
                 HasSubstr("--metric f1:yess: no example has the label 'yess'\n  hint: did you"));
  expect_refusal(
      str("metrics ", rows, " --metric auc-macro --prediction prediction"),
      HasSubstr("the prediction is \"yes\", not an object with the probabilities of at least two"));
  const std::string odd = file("odd.jsonl",
                               R"({"label": "yes", "probabilities": {"yes": 0.8, "no": 0.2}}
{"label": "so", "probabilities": {"yes": 0.8, "no": 0.2}}
)");
  expect_refusal(str("metrics ", odd, " --metric auc-weighted"),
                 HasSubstr("example 2: the reference is \"so\", not one of no, yes"));
  const std::string few = file("few.jsonl",
                               R"({"label": "yes", "probabilities": {"yes": 0.8, "no": 0.2}}
{"label": "yes", "probabilities": {"yes": 0.8, "of": 0.2}}
)");
  expect_refusal(str("metrics ", few, " --metric auc-macro"),
                 HasSubstr("not a probability of each of no, yes"));
}

TEST_F(Metrics, IgnoresBlankLines) {
  const std::string rows = io::read_file(labels("rows.jsonl", 4)) + "\n\n";
  const CommandOutput result =
      run_smelt(str("metrics ", file("blank.jsonl", rows), " --samples 0"));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.text, "accuracy            0.7500\n");
}

TEST_F(Metrics, RejectsRowsThatCannotBeScored) {
  const std::string good = labels("good.jsonl", 20);
  expect_refusal(str("metrics ", good, " --metric acuracy"),
                 HasSubstr("--metric: 'acuracy' is unknown\n  hint: give one of accuracy, "));
  expect_refusal(str("metrics ", good, " --prediction guess"),
                 HasSubstr("good.jsonl:1: has no field 'guess'\n  hint: --prediction names"));
  expect_refusal(str("metrics ", good, " --metric pearson"),
                 HasSubstr("example 1: the prediction is \"no\", not a number\n  hint: choose"));
  expect_refusal(str("metrics ", file("text", "words\n")),
                 HasSubstr("text:1: the line is not a JSON object\n  hint: use a JSONL file"));
  expect_refusal(str("metrics ", good, " ", file("one", "{\"label\": \"no\"}\n")),
                 HasSubstr("scores: 40 predictions for 1 references\n  hint: give one"));
  expect_refusal(str("metrics ", file("none", "")), HasSubstr("none: has no predictions"));
}

TEST_F(Metrics, SupportsUserDefinedMetricCommands) {
  const std::string good = labels("good.jsonl", 20), bad = labels("bad.jsonl", 2);
  const std::string own = file(
      "own.sh",
      "sed -e 's/.*\"prediction\":\"\\(.*\\)\",\"reference\":\"\\1\".*/1/' -e t -e 's/.*/0/' | "
      "awk '{v = v c $1; c = \",\"; n += $1} END {print \"{\\\"right\\\": [\" v "
      "\"], \\\"count\\\": \" n \"}\"}'\n");
  const CommandOutput result = run_smelt(
      str("metrics ", good, " --against ", bad, " --json --metric-command 'sh ", own, "'"));
  ASSERT_EQ(result.status, 0) << result.text;
  const auto got = Json::parse(result.text)["metrics"];
  EXPECT_EQ(got["right"]["value"], 0.95);
  EXPECT_EQ(got["right"]["against"]["value"], 0.5);
  EXPECT_GT(got["right"]["difference"]["low"], 0);
  EXPECT_EQ(got["count"]["value"], 38);
  EXPECT_FALSE(got["count"].contains("low"))
      << "one number has no interval unless samples are asked for";
  EXPECT_FALSE(got.contains("accuracy"));
}

TEST_F(Metrics, RejectsAMetricCommandThatFailsOrPrintsNoNumbers) {
  const std::string rows = labels("rows.jsonl", 4);
  const auto said = [&](const std::string& command) {
    const CommandOutput result =
        run_smelt(str("metrics ", rows, " --metric-command '", command, "'"));
    EXPECT_NE(result.status, 0);
    return result.text;
  };
  EXPECT_THAT(said("exit 3"), HasSubstr("'exit 3' ended with status 3"));
  EXPECT_THAT(said("echo so so"), HasSubstr("must print JSON, but printed 'so so'"));
  EXPECT_THAT(said("echo [1,2]"),
              HasSubstr("printed 2 numbers for 'command', but there are 40 examples"));
  EXPECT_THAT(said("echo \"{\\\"f\\\": null}\""),
              HasSubstr("printed null for 'f', which must be a number"));
}

TEST_F(Metrics, ExitStatusFollowsTheThreshold) {
  const std::string good = labels("good.jsonl", 20);  // an accuracy of 0.95
  EXPECT_EQ(run_smelt(str("metrics ", good, " --samples 0 --at-least accuracy=0.95")).status, 0);
  const CommandOutput low = run_smelt(
      str("metrics ", good, " --samples 0 --at-least f1-macro=0.5 --at-least accuracy=0.96"));
  EXPECT_EQ(low.status, 3);
  EXPECT_THAT(low.text, HasSubstr("f1-macro "));
  EXPECT_THAT(low.text, HasSubstr("error: metrics: accuracy is 0.9500, below 0.96\n"));
  const CommandOutput json =
      run_command(str("(", smelt_program(), " metrics ", good,
                      " --samples 0 --json --at-least accuracy=1 2>/dev/null)"));
  EXPECT_EQ(json.status, 3);
  EXPECT_EQ(Json::parse(json.text).at("passed"), false);
  expect_refusal(str("metrics ", good, " --at-least accuracy"),
                 HasSubstr("--at-least: 'accuracy' is not METRIC=NUMBER\n  hint: write it as "));
  expect_refusal(str("metrics ", good, " --at-least acuracy=0.5"),
                 HasSubstr("no metric 'acuracy' was computed\n  hint: did you mean 'accuracy'?"));
}

}  // namespace
}  // namespace smelt::cli
