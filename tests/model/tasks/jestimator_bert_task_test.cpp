// JEstimator's masks compared with their distribution, and invalid settings.
#include "model/tasks/jestimator_bert_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/ops.h"
#include "reference/evaluate.h"
#include "support/error_of.h"

namespace smelt::model {

using compiler::DType;
using compiler::Graph;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::HasSubstr;

JestimatorBertTask small_task() {
  JestimatorBertTask c;
  c.model = {.max_length = 32,
             .hidden_size = 4,
             .num_heads = 1,
             .num_layers = 1,
             .mlp_size = 4,
             .vocab_size = 50};
  c.settings.mask_token_id = 4;
  return c;
}

std::string refusal(const std::function<void(JestimatorBertTask&)>& change) {
  JestimatorBertTask c = small_task();
  change(c);
  return error_of<UsageError>([&] { jestimator_bert_task(c); });
}

TEST(JestimatorBertTask, RejectsInvalidSettings) {
  EXPECT_EQ(refusal([](auto&) {}), "no error");
  EXPECT_THAT(refusal([](auto& c) { c.settings.mask_token_id = -1; }),
              HasSubstr("jestimator_bert: mask_token_id is missing\n  hint: "));
  EXPECT_THAT(refusal([](auto& c) { c.settings.mask_token_id = 50; }),
              HasSubstr("mask_token_id 50 must be below vocab_size 50"));
  for (const double rate : {0.0, 1.0, std::nan("")})
    EXPECT_THAT(refusal([&](auto& c) { c.settings.mask_rate = rate; }), HasSubstr("mask_rate is "));
  EXPECT_THAT(refusal([](auto& c) { c.model.vocab_size = 0; }),
              HasSubstr("jestimator_bert: vocab_size is 0, must be at least 1"));
}

// Returns how many of `rows` x 32 tokens each position and each row masks in `step`, from the
// weight of the loss of the objective itself.
double masked_tokens(const JestimatorBertTask& c, std::int64_t rows, std::uint64_t step) {
  const Task task = jestimator_bert_task(c);
  Graph graph;
  const Tensor number = graph.argument({DType::s32, {}});
  const Tensor targets = graph.argument({DType::s32, {rows, c.model.max_length}});
  Parameters parameters;
  const Scope root(graph, parameters, RandomSource{.seed = 5, .step = number});
  const Objective objective = task.objective(root, Inputs(task.features, std::vector{targets}));
  std::vector<Value> arguments{
      integer_value(number.shape(), {step}),
      integer_value(targets.shape(), std::vector<std::uint64_t>(
                                         static_cast<std::size_t>(rows * c.model.max_length), 7))};
  for (std::size_t i = 2; i < graph.arguments().size(); ++i)
    arguments.push_back(
        random_value({.shape = graph.arguments()[i].shape(), .low = 0, .high = 1}, i));
  return evaluate(objective.losses[0].weight, arguments)[0];
}

// Counts of 500 draws of 32 tokens compared with the binomial distribution: chi-square over 9
// classes.
TEST(JestimatorBertTask, MasksEachTokenIndependentlyAtTheRate) {
  JestimatorBertTask c = small_task();
  const double n = 32, p = c.settings.mask_rate, draws = 500;
  std::vector<double> found(9), expected(9);
  double all = 0;
  for (std::uint64_t step = 0; step < draws; ++step) {
    const double count = masked_tokens(c, 1, step);
    all += count;
    ++found[static_cast<std::size_t>(std::clamp(count - 1, 0.0, 8.0))];
  }
  double chance = std::pow(1 - p, n);
  for (double k = 0; k <= n; ++k) {
    expected[static_cast<std::size_t>(std::clamp(k - 1, 0.0, 8.0))] += draws * chance;
    chance *= (n - k) / (k + 1) * p / (1 - p);
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    chi_square += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
  EXPECT_LT(chi_square, 26.1);  // 8 degrees of freedom: one seed in a thousand exceeds it
  EXPECT_NEAR(all / (draws * n), p, 4 * std::sqrt(p * (1 - p) / (draws * n)));
}

TEST(JestimatorBertTask, DrawsDifferentMasksPerRow) {
  const JestimatorBertTask c = small_task();
  const double one = masked_tokens(c, 1, 3), eight = masked_tokens(c, 8, 3);
  EXPECT_NE(eight, 8 * one);
  EXPECT_NEAR(eight / (8 * 32), c.settings.mask_rate, 4 * std::sqrt(0.15 * 0.85 / 256));
}

}  // namespace
}  // namespace smelt::model
