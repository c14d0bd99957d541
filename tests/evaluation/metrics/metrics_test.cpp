// Metrics without a reference implementation: SQuAD's rules, intervals, tests, and rejected input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "evaluation/metrics/answers.h"
#include "evaluation/metrics/classification.h"
#include "evaluation/metrics/correlation.h"
#include "evaluation/metrics/entities.h"
#include "evaluation/metrics/named.h"
#include "evaluation/metrics/resample.h"
#include "support/error_of.h"

namespace smelt::evaluation {
namespace {

using Texts = std::vector<std::string>;

TEST(Squad, AnswersAreComparedWithoutCaseArticlesPunctuationAndSpaces) {
  EXPECT_EQ(squad_normalized(" The  Cat's, an A-team—a  “the” theatre! "),
            "cats ateam— “ ” theatre");
  const AnswerScore same = squad_score("the Eiffel Tower.", Texts{"Paris", "eiffel tower"});
  EXPECT_EQ(same.exact, 1);
  EXPECT_EQ(same.f1, 1);
  const AnswerScore part = squad_score("big eiffel eiffel tower", Texts{"eiffel tower"});
  EXPECT_EQ(part.exact, 0);
  EXPECT_NEAR(part.f1, 2 * 2.0 / 6, 1e-15);
}

TEST(Squad, AQuestionWithoutAnswerExpectsAnEmptyPrediction) {
  EXPECT_EQ(squad_score("", Texts{}).exact, 1);
  EXPECT_EQ(squad_score("", Texts{}).f1, 1);
  EXPECT_EQ(squad_score("Paris", Texts{}).f1, 0);
  EXPECT_EQ(squad_score("", Texts{"Paris"}).f1, 0);
}

// Resampling draws whole sentences.
TEST(WordLabels, AreScoredOverTheWordsOfTheChosenExamples) {
  const JsonValues said{Json{"N", "N", "N"}, Json{"V"}, Json{"N", nullptr}},
      is{Json{"N", "N", "V"}, Json{"V"}, Json{"N", "N"}};
  const ScoreOf accuracy = metric_of_words("accuracy", said, is);
  EXPECT_DOUBLE_EQ(accuracy(std::vector<std::size_t>{0, 1, 2}), 4.0 / 6);
  EXPECT_DOUBLE_EQ(accuracy(std::vector<std::size_t>{0}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(accuracy(std::vector<std::size_t>{1, 2, 2}), 3.0 / 5);
  const JsonValues entities{Json{"B-X", "O"}};
  EXPECT_EQ(score_of_all(metric_of_words("entity-f1", entities, entities), 1), 1);
  EXPECT_THAT(
      error_of<UsageError>([&] { metric_of_words("accuracy", said, {"N", "N", "N"}); }),
      testing::HasSubstr("example 1: the reference is \"N\", not a list of labels of words"));
}

// Otherwise one truncated word would count as a class in the macro averages.
TEST(WordLabels, AWordWithoutAPredictionIsWrongAndCountsAsNoClass) {
  const JsonValues said{Json{"N", "V", "V"}, Json{"V", "N"}},
      is{Json{"N", "V", "V"}, Json{"V", "N", "N"}};
  const auto of = [&](const char* metric) {
    return score_of_all(metric_of_words(metric, said, is), 2);
  };
  EXPECT_DOUBLE_EQ(of("accuracy"), 5.0 / 6);
  EXPECT_DOUBLE_EQ(of("recall-macro"), (1 + 2.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(of("f1-macro"), (1 + 0.8) / 2);
  EXPECT_DOUBLE_EQ(of("precision-micro"), 1);
  EXPECT_DOUBLE_EQ(of("recall:N"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(of("matthews"), (6 * 5 - 15) / std::sqrt((36.0 - 14) * (36 - 18)));
  const NamedCounts c = counts_of_words(said, is);
  EXPECT_THAT(c.names, testing::ElementsAre("N", "V"));
  EXPECT_EQ(c.counts.wanted(0), 3);
  EXPECT_EQ(c.counts.total(), 6);
}

TEST(Metrics, AnEmptyLabelIsAClassIfAReferenceIsEmpty) {
  const JsonValues said{"", "a", ""};
  EXPECT_THAT(counts_of(said, {"", "a", "a"}).names, testing::ElementsAre("", "a"));
  EXPECT_THAT(counts_of(said, {"b", "a", "a"}).names, testing::ElementsAre("a", "b"));
}

// 75 of 100 are correct: the normal approximation gives 0.75 ± 0.085.
TEST(Bootstrap, IntervalContainsTheScoreAndIsReproducible) {
  const ScoreOf right = [](std::span<const std::size_t> examples) {
    double sum = 0;
    for (const std::size_t e : examples) sum += e % 4 != 0 ? 1 : 0;
    return sum / static_cast<double>(examples.size());
  };
  const Interval got = bootstrap(100, right, {.seed = 3}),
                 again = bootstrap(100, right, {.seed = 3});
  EXPECT_EQ(got.value, 0.75);
  EXPECT_NEAR(got.low, 0.665, 0.02);
  EXPECT_NEAR(got.high, 0.835, 0.02);
  EXPECT_EQ(got.low, again.low);
  EXPECT_EQ(got.high, again.high);
}

TEST(Bootstrap, PairedTestFindsABetterModelButNoDifferenceToItself) {
  const auto mean_of = [](double base) {
    return [base](std::span<const std::size_t> examples) {
      double sum = 0;
      for (const std::size_t e : examples) sum += base + static_cast<double>(e % 7);
      return sum;
    };
  };
  EXPECT_LT(paired_bootstrap(50, mean_of(1), mean_of(0)).p_value, 0.01);
  EXPECT_EQ(paired_bootstrap(50, mean_of(1), mean_of(1)).p_value, 1);
}

TEST(Metrics, UndefinedMetricsAreNan) {
  const std::vector<double> same{1, 1, 1}, other{1, 2, 3};
  EXPECT_TRUE(std::isnan(pearson(same, other)));
  EXPECT_TRUE(std::isnan(spearman(other, same)));
  EXPECT_TRUE(std::isnan(roc_auc(other, same)));
}

double score_of(const char* metric, const std::string& said, const std::string& is) {
  const JsonValues predicted = Json::parse(said), wanted = Json::parse(is);
  std::vector<std::size_t> all(wanted.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return metric_of(metric, predicted, wanted)(all);
}

// The expected values are from scikit-learn, with indicator matrices.
TEST(Metrics, ExamplesMayHaveAnyNumberOfClasses) {
  const std::string said = R"([["a"], ["a", "b"], []])", is = R"([["a"], ["b"], ["a"]])";
  EXPECT_DOUBLE_EQ(score_of("accuracy", said, is), 1.0 / 3);
  EXPECT_DOUBLE_EQ(score_of("precision-micro", said, is), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score_of("f1-macro", said, is), 0.75);
  EXPECT_DOUBLE_EQ(score_of("f1-weighted", said, is), 2.0 / 3);
  EXPECT_THAT(error_of<UsageError>([&] { score_of("matthews", said, is); }),
              testing::HasSubstr("matthews does not support examples with lists of labels"));
  EXPECT_THAT(error_of<UsageError>([&] { score_of("accuracy", R"([["O", "O"]])", R"([["O"]])"); }),
              testing::HasSubstr("not a list of different labels"));
}

// The expected values and report are from scikit-learn, with indicator matrices.
TEST(Metrics, MultiLabelClassMetricAndReportMatchScikitLearn) {
  const std::string said = R"([["a"], ["b"], ["b"], ["a", "b"], []])",
                    is = R"([["a", "x,y"], [], ["b"], ["a"], ["x,y"]])";
  EXPECT_DOUBLE_EQ(score_of("f1:a", said, is), 1);
  EXPECT_DOUBLE_EQ(score_of("precision:b", said, is), 1.0 / 3);
  EXPECT_DOUBLE_EQ(score_of("f1:b", said, is), 0.5);
  EXPECT_DOUBLE_EQ(score_of("recall:x,y", said, is), 0);
  EXPECT_THAT(error_of<UsageError>([&] { score_of("f1:x", said, is); }),
              testing::HasSubstr("no example has the label 'x'"));
  const NamedCounts c = counts_of(Json::parse(said), Json::parse(is));
  EXPECT_TRUE(c.are_lists);
  EXPECT_EQ(classification_report(c.counts, c.names, 2, ReportOf::lists),
            "              precision    recall  f1-score   support\n\n"
            "           a       1.00      1.00      1.00         2\n"
            "           b       0.33      1.00      0.50         1\n"
            "         x,y       0.00      0.00      0.00         2\n\n"
            "   micro avg       0.60      0.60      0.60         5\n"
            "   macro avg       0.44      0.67      0.50         5\n"
            "weighted avg       0.47      0.60      0.50         5\n"
            " samples avg       0.50      0.50      0.47         5\n");
}

TEST(Metrics, CompareLabelsInAnyUnicodeNormalization) {
  const std::string composed = R"(["caf\u00e9", "no"])", decomposed = R"(["cafe\u0301", "no"])";
  EXPECT_EQ(score_of("accuracy", decomposed, composed), 1);
  EXPECT_EQ(score_of("f1:cafe\u0301", composed, composed), 1);
  EXPECT_EQ(score_of("f1-micro", R"([["cafe\u0301"]])", R"([["caf\u00e9"]])"), 1);
  EXPECT_EQ(score_of("entity-f1", R"([["B-cafe\u0301"]])", R"([["B-caf\u00e9"]])"), 1);
  EXPECT_EQ(score_of("auc-macro", R"([{"cafe\u0301": 0.9, "no": 0.1}, {"cafe\u0301": 0, "no": 1}])",
                     composed),
            1);
}

TEST(Metrics, MetricListIsNotSplitWithinALabel) {
  using testing::ElementsAre;
  EXPECT_THAT(metric_list("accuracy, f1-macro"), ElementsAre("accuracy", "f1-macro"));
  EXPECT_THAT(metric_list("f1:naïve, x,accuracy,recall:a,b"),
              ElementsAre("f1:naïve, x", "accuracy", "recall:a,b"));
  EXPECT_THAT(metric_list("acuracy,f1"), ElementsAre("acuracy", "f1"));
}

TEST(Metrics, NamesAMisspelledMetricAfterALabel) {
  const auto refusal = [](const char* metric) {
    return error_of<UsageError>(
        [&] { score_of(metric, R"(["yes", "x,y"])", R"(["yes", "x,y"])"); });
  };
  EXPECT_THAT(refusal("f1:yes,acuracy"), testing::HasSubstr("--metric: 'acuracy' is unknown"));
  EXPECT_THAT(refusal("f1:x,y, acuracy"), testing::HasSubstr("--metric: 'acuracy' is unknown"));
  EXPECT_THAT(refusal("f1:x,z"), testing::HasSubstr("no example has the label 'x,z'"));
}

// With generated answers nearly every example is a class. Memory must grow linearly with the number
// of classes.
TEST(Metrics, HandlesNearlyAsManyClassesAsExamples) {
  JsonValues predicted, wanted;
  for (int i = 0; i < 40000; ++i) {
    predicted.emplace_back(str("p", i));
    wanted.emplace_back(str(i % 4 == 0 ? "p" : "w", i));
  }
  std::vector<std::size_t> all(wanted.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_DOUBLE_EQ(metric_of("accuracy", predicted, wanted)(all), 0.25);
  EXPECT_DOUBLE_EQ(metric_of("f1-micro", predicted, wanted)(all), 0.25);
}

TEST(Metrics, RejectListsOfDifferentLengthsAndUnknownClasses) {
  const std::vector<std::size_t> two{0, 1}, three{0, 1, 5};
  EXPECT_EQ(error_of<UsageError>([&] { ClassCounts(3, two, three); }),
            "classes: 2 predictions for 3 references\n"
            "  hint: give one prediction for each reference, in their order");
  EXPECT_EQ(
      error_of<UsageError>([&] { ClassCounts(3, three, three); }),
      "classes: example 2 has class 5, but there are 3\n  hint: pass the names of all classes");
  EXPECT_EQ(error_of<UsageError>([] { entity_scores({{"O"}}, {{"O", "O"}}); }),
            "entities: sequence 0 has 1 predicted labels for 2 tokens\n"
            "  hint: predict one label for each token");
  EXPECT_EQ(
      error_of<UsageError>([] { bootstrap(0, [](std::span<const std::size_t>) { return 0.0; }); }),
      "scores: the list of examples is empty\n  hint: give at least one prediction");
}

TEST(Entities, AnInsideLabelWithoutBeginStartsAnEntity) {
  const std::vector<std::string> known{"B-PER", "I-PER", "B-LOC", "I-LOC", "I-ORG", "O"};
  const std::vector<std::string> labels{"I-PER", "I-PER", "B-LOC", "I-PER", "O", "I-LOC", "I-ORG"};
  const auto begun = with_entity_begins(labels, known);
  EXPECT_EQ(begun,
            (std::vector<std::string>{"B-PER", "I-PER", "B-LOC", "B-PER", "O", "B-LOC", "I-ORG"}));
  EXPECT_EQ(entities_of(begun), entities_of(labels));
}

}  // namespace
}  // namespace smelt::evaluation
