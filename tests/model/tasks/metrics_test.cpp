// Metrics that are not simple quotients, compared with their definitions.
#include "model/tasks/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "compiler/ops/ops.h"
#include "reference/evaluate.h"

namespace smelt::testing {

using compiler::DType;
using compiler::Graph;
using compiler::Shape;
using compiler::Tensor;
namespace {

struct Answers {
  std::vector<double> probabilities, labels, weights;
};

Answers draw_answers(std::uint32_t seed, std::size_t count) {
  PythonRandom random(seed);
  Answers out;
  for (std::size_t i = 0; i < count; ++i) {
    out.labels.push_back(random.random() < 0.3);
    const double p = std::clamp(random.random() * 0.8 + 0.2 * out.labels.back(), 0.0, 1.0);
    out.probabilities.push_back(static_cast<float>(p));
    out.weights.push_back(random.random() < 0.9);
  }
  out.probabilities[0] = 0;
  out.probabilities[1] = 1;
  return out;
}

std::vector<double> sums_of(const Answers& a, double* weight) {
  Graph graph;
  const Shape row{DType::f32, {std::ssize(a.labels)}};
  const Tensor p = graph.argument(row), labels = graph.argument(row), w = graph.argument(row);
  const model::Metric m = model::roc_auc("auc", p, labels, w);
  const auto got = interpret(
      graph, {m.sum, m.weight},
      {real_value(row, a.probabilities), real_value(row, a.labels), real_value(row, a.weights)});
  *weight += got[1].real[0];
  return got[0].real;
}

double auc_of(const std::vector<double>& sums) {
  Graph graph;
  const Tensor x = graph.argument({DType::f32, {1}});
  return model::roc_auc("auc", x, x, x).finish(sums);
}

// Like tf.metrics.auc: rates at 200 thresholds, each counted separately.
double slow_auc(const std::vector<Answers>& batches) {
  double area = 0, last_x = 0, last_y = 0;
  for (int k = 0; k < 200; ++k) {
    const double threshold = k == 0 ? -1e-7 : k == 199 ? 1 + 1e-7 : k / 199.0;
    double hits = 0, alarms = 0, positives = 0, negatives = 0;
    for (const Answers& a : batches)
      for (std::size_t i = 0; i < a.labels.size(); ++i) {
        const bool above = a.probabilities[i] > threshold;
        (a.labels[i] == 1 ? positives : negatives) += a.weights[i];
        if (above) (a.labels[i] == 1 ? hits : alarms) += a.weights[i];
      }
    const double x = alarms / (negatives + 1e-6), y = (hits + 1e-6) / (positives + 1e-6);
    if (k > 0) area += (last_x - x) * (y + last_y) / 2;
    last_x = x;
    last_y = y;
  }
  return area;
}

TEST(RocAuc, MatchesTheOriginalOverAllBatches) {
  const std::vector<Answers> batches{draw_answers(1, 300), draw_answers(2, 200)};
  double weight = 0, want_weight = 0;
  std::vector<double> sums = sums_of(batches[0], &weight);
  const auto more = sums_of(batches[1], &weight);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  for (const Answers& a : batches)
    for (const double w : a.weights) want_weight += w;
  EXPECT_EQ(weight, want_weight);
  EXPECT_NEAR(auc_of(sums), slow_auc(batches), 1e-9);
  EXPECT_GT(auc_of(sums), 0.6);
}

TEST(RocAuc, IsOneForPerfectAndHalfForConstantPredictions) {
  double weight = 0;
  const Answers right{{0.1, 0.2, 0.9, 0.8}, {0, 0, 1, 1}, {1, 1, 1, 1}};
  EXPECT_NEAR(auc_of(sums_of(right, &weight)), 1, 1e-5);
  const Answers same{{0.5, 0.5, 0.5, 0.5}, {0, 0, 1, 1}, {1, 1, 1, 1}};
  EXPECT_NEAR(auc_of(sums_of(same, &weight)), 0.5, 1e-5);
  const Answers wrong{{0.9, 0.8, 0.1, 0.2}, {0, 0, 1, 1}, {1, 1, 1, 1}};
  EXPECT_NEAR(auc_of(sums_of(wrong, &weight)), 0, 1e-5);
}

TEST(ShareOf, IsZeroWithoutItems) {
  Graph graph;
  const Tensor x = graph.argument({DType::f32, {}});
  const model::Finish finish = model::share_of("precision", x, x, x).finish;
  EXPECT_EQ(finish(std::vector<double>{3, 4}), 0.75);
  EXPECT_EQ(finish(std::vector<double>{0, 0}), 0);
}

}  // namespace
}  // namespace smelt::testing
