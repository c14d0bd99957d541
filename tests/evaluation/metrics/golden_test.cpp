// Compares metrics with scikit-learn, scipy, seqeval, sacrebleu and rouge-score, and stems with
// NLTK (tools/golden_metrics.py).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/json.h"
#include "evaluation/metrics/answers.h"
#include "evaluation/metrics/bleu.h"
#include "evaluation/metrics/classification.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/entities.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/porter.h"
#include "evaluation/metrics/resample.h"
#include "evaluation/metrics/rouge.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt::evaluation {
namespace {

constexpr double kClose = 1e-9;
using Texts = std::vector<std::string>;
using Numbers = std::vector<double>;

const Json& golden(const char* group) {
  static const Json kFacts = Json::parse(io::read_file(source_path("tests/golden/metrics.json")));
  return kFacts.at(group);
}

void expect_close(const PrecisionRecall& got, const Json& want) {
  EXPECT_NEAR(got.precision, want[0].get<double>(), kClose);
  EXPECT_NEAR(got.recall, want[1].get<double>(), kClose);
  EXPECT_NEAR(got.f1, want[2].get<double>(), kClose);
}

void expect_close(const RougeScore& got, const Json& want) {
  EXPECT_NEAR(got.precision, want[0].get<double>(), kClose);
  EXPECT_NEAR(got.recall, want[1].get<double>(), kClose);
  EXPECT_NEAR(got.f1, want[2].get<double>(), kClose);
}

TEST(GoldenMetrics, ClassMetricsAndReportMatchScikitLearn) {
  const auto names = golden("names").get<Texts>();
  for (const auto& facts : golden("classes")) {
    const ClassCounts c(names.size(), facts["predicted"].get<std::vector<std::size_t>>(),
                        facts["wanted"].get<std::vector<std::size_t>>());
    std::vector<PrecisionRecall> there;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (c.wanted(i) + c.predicted(i) > 0) there.push_back(by_class(c)[i]);
    EXPECT_NEAR(accuracy(c), facts["accuracy"].get<double>(), kClose);
    EXPECT_NEAR(matthews(c), facts["matthews"].get<double>(), kClose);
    expect_close(micro_average(c), facts["micro"]);
    expect_close(macro_average(there), facts["macro"]);
    expect_close(weighted_average(there), facts["weighted"]);
    EXPECT_EQ(classification_report(c, names), facts["report"].get<std::string>());
  }
}

std::vector<std::size_t> all_of(const Json& examples) {
  std::vector<std::size_t> out(examples.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

TEST(GoldenMetrics, SingleClassMetricsMatchScikitLearn) {
  for (const auto& facts : golden("classes")) {
    JsonValues predicted, wanted;
    for (const std::size_t c : facts["predicted"]) predicted.push_back(golden("names")[c]);
    for (const std::size_t c : facts["wanted"]) wanted.push_back(golden("names")[c]);
    const ClassCounts c(4, facts["predicted"].get<std::vector<std::size_t>>(),
                        facts["wanted"].get<std::vector<std::size_t>>());
    for (std::size_t i = 0; i < 4; ++i) {
      if (c.wanted(i) + c.predicted(i) == 0) continue;
      const std::string name = golden("names")[i];
      const auto score = [&](const std::string& kind) {
        return metric_of(kind + ":" + name, predicted, wanted)(all_of(facts["wanted"]));
      };
      expect_close(
          PrecisionRecall{
              .precision = score("precision"), .recall = score("recall"), .f1 = score("f1")},
          facts["by_class"][i]);
    }
  }
}

TEST(GoldenMetrics, AucOfClassProbabilitiesMatchesScikitLearn) {
  for (const auto& facts : golden("probabilities")) {
    JsonValues predicted, wanted;
    for (const auto& row : facts["probabilities"]) {
      Json by_name;
      for (std::size_t c = 0; c < row.size(); ++c) by_name["class " + std::to_string(c)] = row[c];
      predicted.push_back(by_name);
    }
    for (const int c : facts["wanted"]) wanted.push_back("class " + std::to_string(c));
    for (const char* kind : {"macro", "weighted"}) {
      const double got =
          metric_of(std::string("auc-") + kind, predicted, wanted)(all_of(facts["wanted"]));
      if (facts[kind].is_null())
        EXPECT_TRUE(std::isnan(got)) << got;
      else
        EXPECT_NEAR(got, facts[kind].get<double>(), kClose);
    }
  }
}

TEST(GoldenMetrics, NumberMetricsMatchScipyAndScikitLearn) {
  for (const auto& facts : golden("numbers")) {
    const auto predicted = facts["predicted"].get<Numbers>();
    const auto wanted = facts["wanted"].get<Numbers>();
    EXPECT_NEAR(pearson(predicted, wanted), facts["pearson"].get<double>(), kClose);
    EXPECT_NEAR(spearman(predicted, wanted), facts["spearman"].get<double>(), kClose);
    EXPECT_NEAR(mean_squared_error(predicted, wanted), facts["mse"].get<double>(), kClose);
    EXPECT_NEAR(roc_auc(predicted, facts["positive"].get<Numbers>()), facts["auc"].get<double>(),
                kClose);
  }
}

TEST(GoldenMetrics, EntityMetricsMatchSeqeval) {
  const auto& facts = golden("entities");
  const EntityScores got = entity_scores(facts["predicted"].get<LabelSequences>(),
                                         facts["wanted"].get<LabelSequences>());
  expect_close(got.micro, facts["micro"]);
  expect_close(got.macro, facts["macro"]);
  expect_close(got.weighted, facts["weighted"]);
}

TEST(GoldenMetrics, TextMetricsMatchSacrebleuAndRougeScore) {
  const auto& facts = golden("texts");
  BleuCounts one, two;
  for (const auto& row : facts["rows"]) {
    const auto predicted = row["predicted"].get<std::string>();
    const auto wanted = row["wanted"].get<Texts>();
    SCOPED_TRACE(predicted);
    expect_close(rouge_n(predicted, wanted[0], 1), row["rouge"]["rouge1"]);
    expect_close(rouge_n(predicted, wanted[0], 2), row["rouge"]["rouge2"]);
    expect_close(rouge_l(predicted, wanted[0]), row["rouge"]["rougeL"]);
    EXPECT_NEAR(bleu(bleu_counts(predicted, wanted)), row["bleu"].get<double>(), kClose);
    one += bleu_counts(predicted, {wanted.data(), 1});
    two += bleu_counts(predicted, wanted);
  }
  EXPECT_NEAR(bleu(one), facts["bleu"][0].get<double>(), kClose);
  EXPECT_NEAR(bleu(two), facts["bleu"][1].get<double>(), kClose);
}

TEST(GoldenMetrics, StemsMatchNltk) {
  const auto& facts = golden("stems");
  EXPECT_GT(facts.size(), 700u);
  for (const auto& [word, stem] : facts.items()) EXPECT_EQ(porter_stem(word), stem) << word;
}

TEST(GoldenMetrics, RougeLsumAndStemsMatchRougeScore) {
  for (const auto& row : golden("summaries")) {
    const auto predicted = row["predicted"].get<std::string>();
    const auto wanted = row["wanted"].get<std::string>();
    SCOPED_TRACE(predicted + " | " + wanted);
    for (const auto& [stems, facts] :
         {std::pair{Stems::none, row["plain"]}, {Stems::porter, row["stems"]}}) {
      expect_close(rouge_n(predicted, wanted, 1, stems), facts["rouge1"]);
      expect_close(rouge_n(predicted, wanted, 2, stems), facts["rouge2"]);
      expect_close(rouge_l(predicted, wanted, stems), facts["rougeL"]);
      expect_close(rouge_l_sum(predicted, wanted, stems), facts["rougeLsum"]);
    }
  }
}

TEST(GoldenMetrics, McNemarIsTheExactBinomialTest) {
  for (const auto& facts : golden("mcnemar"))
    EXPECT_NEAR(mcnemar(facts[0], facts[1]), facts[2].get<double>(), kClose);
}

}  // namespace
}  // namespace smelt::evaluation
