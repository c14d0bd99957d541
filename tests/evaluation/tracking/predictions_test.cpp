// Statistics of predictions on held-out examples, and how the run report shows them.
#include "evaluation/tracking/predictions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "evaluation/tracking/predictions_page.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Predictions : public testing::Test {
 protected:
  std::optional<PredictionFigures> figures(const std::string& rows) const {
    io::write_file(dir_.file("p.jsonl"), rows);
    return prediction_figures(dir_.file("p.jsonl"));
  }
  static std::vector<std::string> metrics(const PredictionFigures& figures) {
    std::vector<std::string> out;
    for (const NamedInterval& one : figures.scores) out.push_back(one.metric);
    return out;
  }

  TempDir dir_;
};

constexpr const char* kFourRows =
    R"({"text": "one <b>", "label": "a", "prediction": "a", "probabilities": {"a": 0.95, "b": 0.05}}
{"text": "two", "label": "b", "prediction": "a", "probabilities": {"a": 0.65, "b": 0.35}}
{"text": "three & more", "label": "b", "prediction": "a", "probabilities": {"a": 0.91, "b": 0.09}}
{"text": "four", "label": "b", "prediction": "b", "probabilities": {"a": 0.0, "b": 1.0}}
)";

TEST_F(Predictions, ClassificationHasAConfusionMatrixAndCalibration) {
  const auto f = figures(kFourRows);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->examples, 4);
  EXPECT_THAT(metrics(*f), ElementsAre("accuracy", "f1-macro", "matthews"));
  EXPECT_EQ(f->scores[0].score.value, 0.5);
  EXPECT_LT(f->scores[0].score.low, f->scores[0].score.high);
  EXPECT_THAT(f->table->names, ElementsAre("a", "b"));
  EXPECT_THAT(f->table->counts, ElementsAre(ElementsAre(1, 0), ElementsAre(2, 1)));
  ASSERT_EQ(f->calibration.size(), 10u);
  EXPECT_EQ(f->calibration[6].examples, 1);
  EXPECT_EQ(f->calibration[6].right, 0);
  EXPECT_EQ(f->calibration[9].examples, 3);
  EXPECT_NEAR(f->calibration[9].mean, (0.95 + 0.91 + 1) / 3, 1e-12);
  EXPECT_NEAR(f->calibration_error, (0.65 + 3 * (0.9533333333 - 2.0 / 3)) / 4, 1e-9);
  ASSERT_EQ(f->mistakes.size(), 2u);
  EXPECT_EQ(f->mistakes[0].text, "three & more");
  EXPECT_EQ(f->mistakes[0].wanted, "b");
}

TEST_F(Predictions, EachProblemTypeHasItsOwnMetrics) {
  EXPECT_FALSE(figures(""));
  EXPECT_FALSE(prediction_figures(dir_.file("none.jsonl")));
  EXPECT_THAT(metrics(*figures("{\"label\": 1.5, \"prediction\": 1}\n")),
              ElementsAre("pearson", "spearman", "mse"));
  EXPECT_THAT(metrics(*figures("{\"label\": [\"x\"], \"prediction\": [\"x\", \"y\"]}\n")),
              ElementsAre("accuracy", "f1-micro", "f1-macro"));
  EXPECT_THAT(metrics(*figures("{\"label\": [\"B-X\"], \"prediction\": [\"O\"], \"words\": []}\n")),
              ElementsAre("entity-f1", "entity-precision", "entity-recall"));
  EXPECT_THAT(metrics(*figures("{\"label\": [\"N\"], \"prediction\": [null], \"words\": []}\n")),
              ElementsAre("accuracy", "f1-macro"));
  EXPECT_THAT(metrics(*figures("{\"label\": \"+\", \"prediction\": \"-\"}\n")),
              ElementsAre("accuracy", "squad-f1", "rougeL"));
  const auto answers = figures(
      R"({"question": "q", "context": "c d", "label": ["d"], "prediction": "c", "probability": 0.5})"
      "\n");
  EXPECT_THAT(metrics(*answers), ElementsAre("exact-match", "squad-f1", "rougeL"));
  EXPECT_EQ(answers->mistakes.at(0).text, "q | c d");
  EXPECT_THAT(error_of<UsageError>([&] { figures("{\"label\": 1}\n"); }),
              HasSubstr("p.jsonl:1: expected an object with 'label' and 'prediction'"));
}

TEST_F(Predictions, SeveralRunsShareOneTable) {
  const auto f = figures(kFourRows);
  const std::string page = predictions_html({{"seed <1>", *f}, {"seed 2", *f}});
  EXPECT_THAT(page, HasSubstr("<td dir=\"auto\">seed &lt;1&gt;</td>"));
  EXPECT_THAT(page, HasSubstr("<td dir=\"auto\">mean ± spread</td>"));
  EXPECT_THAT(page, HasSubstr("0.500 ± 0.000"));
  EXPECT_THAT(page, HasSubstr("three &amp; more"));
  EXPECT_THAT(page, HasSubstr("--share:0.67\">2</td>"));
  EXPECT_THAT(page, HasSubstr("expected error 37."));
  EXPECT_EQ(predictions_html({}), "");
}

TEST_F(Predictions, PageShowsRowCountsPerSplit) {
  const std::string html = row_overview_html(Json::parse(
      R"({"splits": [{"split": "train", "rows": 5, "left_out": 1, "labels": {"<x>": 4, "y": 1},
          "lengths": {"unit": "words", "median": 3, "p99": 9, "longest": 9}, "same_text": 2},
         {"split": "test", "rows": 1, "labels": {"y": 1}}], "findings": ["2 rows & more"]})"));
  EXPECT_THAT(html, HasSubstr("<td dir=\"auto\">train</td><td class=\"number\">5</td>"));
  EXPECT_THAT(html, HasSubstr("<li dir=\"auto\">2 rows &amp; more</li>"));
  EXPECT_THAT(html, HasSubstr("<td dir=\"auto\">&lt;x&gt;</td><td class=\"number\">4</td>"
                              "<td class=\"number\">0</td>"));
  EXPECT_EQ(row_overview_html(Json("x")), "");
}

}  // namespace
}  // namespace smelt::evaluation
