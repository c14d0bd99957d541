// Metrics of rerankers against CrossEncoderRerankingEvaluator of sentence-transformers 6.2 and
// average_precision_score of scikit-learn.
#include "evaluation/metrics/reranking.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "evaluation/metrics/correlation.h"

namespace smelt::evaluation {
namespace {

struct Pairs {
  std::vector<std::string> queries;
  std::vector<double> labels, scores;

  void add(const std::string& query, std::vector<double> of, std::vector<double> with) {
    queries.insert(queries.end(), of.size(), query);
    labels.insert(labels.end(), of.begin(), of.end());
    scores.insert(scores.end(), with.begin(), with.end());
  }
};

Pairs four_queries() {
  Pairs out;
  out.add("a", {1, 0, 0, 1}, {.9, .8, .1, .3});
  out.add("b", {0, 1, 0}, {.7, .2, .5});
  out.add("c", {1, 0, 1, 0}, {.5, .5, .25, .75});  // equal scores
  out.add("d", {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1},
          {.99, .95, .9, .85, .8, .75, .7, .65, .6, .55, .5, .52});
  return out;
}

TEST(RerankingMetrics, EqualThoseOfSentenceTransformers) {
  const Pairs pairs = four_queries();
  const RerankingMetrics got = reranking_metrics(pairs.queries, pairs.scores, pairs.labels);
  EXPECT_EQ(got.queries, 4);
  EXPECT_NEAR(got.mrr, 0.41666667, 1e-8);
  EXPECT_NEAR(got.ndcg, 0.50762553, 1e-8);
  EXPECT_NEAR(got.map, 0.4280303, 1e-7);
  EXPECT_NEAR(average_precision_score(pairs.scores, pairs.labels), 0.2368974384011978, 1e-12);
}

TEST(RerankingMetrics, LeaveOutQueriesWhoseDocumentsAreAllAlike) {
  Pairs pairs;
  pairs.add("only relevant", {1, .5}, {.1, .2});
  pairs.add("none relevant", {0, .4}, {.1, .2});
  EXPECT_EQ(reranking_metrics(pairs.queries, pairs.scores, pairs.labels).queries, 0);
  EXPECT_TRUE(std::isnan(average_precision_score({}, {})));
}

}  // namespace
}  // namespace smelt::evaluation
