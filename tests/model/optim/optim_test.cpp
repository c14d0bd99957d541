// Schedules (f32), clipping and AdamW compared with their formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "model/optim/adamw.h"
#include "model/optim/clip.h"
#include "model/optim/schedule.h"
#include "reference/evaluate.h"

namespace smelt::model {

using compiler::DType;
using compiler::Graph;
using compiler::Shape;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::Each;
using ::testing::IsNan;

TEST(Schedule, DecaysLinearlyFromStepZeroAfterWarmUp) {
  const Schedule s{.learning_rate = 1e-3, .warmup_steps = 10, .total_steps = 100, .power = 1.0};
  EXPECT_DOUBLE_EQ(learning_rate(s, 0), 0);
  EXPECT_NEAR(learning_rate(s, 1), 1e-4, 1e-10);
  EXPECT_NEAR(learning_rate(s, 9), 9e-4, 1e-10);
  EXPECT_NEAR(learning_rate(s, 10), 9e-4, 1e-10);  // 1e-3 * (1 - 10/100), not 1e-3
  EXPECT_NEAR(learning_rate(s, 55), 4.5e-4, 1e-10);
  EXPECT_NEAR(learning_rate(s, 100), 0, 1e-10);
  EXPECT_NEAR(learning_rate(s, 1000), 0, 1e-10);
}

TEST(Schedule, SupportsPolynomialPowerWithoutWarmUp) {
  const Schedule s{.learning_rate = 2.0, .warmup_steps = 0, .total_steps = 4, .power = 2.0};
  EXPECT_NEAR(learning_rate(s, 0), 2.0, 1e-12);
  EXPECT_NEAR(learning_rate(s, 1), 2.0 * 0.75 * 0.75, 1e-12);
}

TEST(Schedule, ElectraWarmUpMultipliesTheDecayedRate) {
  const Schedule s{.learning_rate = 5e-4,
                   .warmup_steps = 10,
                   .total_steps = 100,
                   .power = 0.5,
                   .warmup = Warmup::multiplies};
  for (const std::int64_t step : {0, 3, 9, 10, 50, 100})
    EXPECT_NEAR(learning_rate(s, step),
                5e-4 * std::sqrt(1 - step / 100.0) * std::min(1.0, step / 10.0), 1e-10)
        << step;
}

TEST(Schedule, JestimatorDecaysAfterTheWarmUpOrNotAtAll) {
  Schedule s{.learning_rate = 0.005,
             .warmup_steps = 10,
             .total_steps = 7,  // ignored here
             .warmup = Warmup::multiplies,
             .decay = Decay::after_warmup,
             .decay_to_step = 30};
  const auto by_hand = [&](double t) {
    return 0.005 * std::min(1.0, t / 10) * (1 - std::max(0.0, t - 10) / 20);
  };
  for (const std::int64_t step : {0, 1, 9, 10, 11, 20, 29, 30})
    EXPECT_NEAR(learning_rate(s, step), by_hand(static_cast<double>(step)), 1e-9) << step;
  EXPECT_EQ(learning_rate(s, 100), 0);  // the original would become negative
  s.decay_to_step = 0;
  EXPECT_NEAR(learning_rate(s, 5), 0.0025, 1e-9);
  EXPECT_NEAR(learning_rate(s, 1000000), 0.005, 1e-9);
  s.warmup_steps = 0;
  s.decay_to_step = 20;
  EXPECT_NEAR(learning_rate(s, 5), 0.005 * 0.75, 1e-9);
}

TEST(Schedule, InverseSquareRootMatchesT5) {
  Schedule s{.learning_rate = 0.01,
             .warmup_steps = 16,
             .warmup = Warmup::none,
             .decay = Decay::inverse_sqrt};
  for (const std::int64_t step : {0, 1, 16, 17, 64, 10000})
    EXPECT_NEAR(learning_rate(s, step),
                0.01 * 4 / std::sqrt(std::max(static_cast<double>(step), 16.0)), 1e-8)
        << step;
  s.warmup = Warmup::multiplies;
  EXPECT_NEAR(learning_rate(s, 4), 0.01 * 4 / 16, 1e-8);
  EXPECT_NEAR(learning_rate(s, 64), 0.005, 1e-8);
  s.warmup_steps = 0;
  EXPECT_NEAR(learning_rate(s, 0), 0.01, 1e-8);
  EXPECT_NEAR(learning_rate(s, 100), 0.001, 1e-8);
}

TEST(Schedule, LastSqrtDecaysOverTheLastSteps) {
  const Schedule s{.learning_rate = 0.1,
                   .warmup_steps = 4,
                   .total_steps = 100,
                   .warmup = Warmup::multiplies,
                   .decay = Decay::last_sqrt,
                   .decay_steps = 25,
                   .end = 0.2};
  EXPECT_NEAR(learning_rate(s, 1), 0.025, 1e-8);
  EXPECT_NEAR(learning_rate(s, 75), 0.1, 1e-8);
  EXPECT_NEAR(learning_rate(s, 79), 0.1 * (0.2 + 0.8 * (1 - 0.4)), 1e-8);
  EXPECT_NEAR(learning_rate(s, 100), 0.02, 1e-8);
  EXPECT_NEAR(learning_rate(s, 200), 0.02, 1e-8);
}

std::vector<std::vector<double>> clipped(const std::vector<double>& a,
                                         const std::vector<double>& b) {
  Graph graph;
  const Shape shape_a{DType::f64, {2}}, shape_b{DType::f64, {1, 2}};
  const std::vector<Tensor> tensors{graph.argument(shape_a), graph.argument(shape_b)};
  const auto results = clip_by_global_norm(tensors, global_norm(tensors), 1.0);
  const std::vector<Value> values{real_value(shape_a, a), real_value(shape_b, b)};
  return {evaluate(results[0], values), evaluate(results[1], values)};
}

TEST(Clip, ScalesAllTensorsByTheGlobalNorm) {
  const auto got = clipped({3, 0}, {0, 4});  // the norm is 5
  EXPECT_NEAR(got[0][0], 0.6, 1e-12);
  EXPECT_NEAR(got[1][1], 0.8, 1e-12);
}

TEST(Clip, DoesNotChangeASmallGradient) {
  const auto got = clipped({0.3, 0}, {0, 0.4});
  EXPECT_NEAR(got[0][0], 0.3, 1e-12);
  EXPECT_NEAR(got[1][1], 0.4, 1e-12);
}

TEST(Clip, NonFiniteGradientBecomesNanEverywhere) {
  for (const double bad : std::vector<double>{INFINITY, -INFINITY, NAN}) {
    const auto got = clipped({bad, 1}, {1, 1});
    EXPECT_THAT(got[0], Each(IsNan()));
    EXPECT_THAT(got[1], Each(IsNan()));
  }
}

TEST(Clip, ByValueClampsEachElement) {
  Graph graph;
  const Shape shape{DType::f64, {3}};
  const Tensor cut = clip_by_value(graph.argument(shape), 0.5);
  const auto got = evaluate(cut, {real_value(shape, {-2, -0.25, 0.75})});
  EXPECT_EQ(got[0], -0.5);
  EXPECT_EQ(got[1], -0.25);
  EXPECT_EQ(got[2], 0.5);
}

struct Expected {
  double value, m, v;
};

Expected by_hand(const AdamW& o, double rate, int step, double p, double m, double v, double g,
                 bool decays) {
  m = o.beta1 * m + (1 - o.beta1) * g;
  v = o.beta2 * v + (1 - o.beta2) * g * g;
  double m_hat = m, v_hat = v;
  if (o.bias_correction == BiasCorrection::on) {
    m_hat /= 1 - std::pow(o.beta1, step + 1);
    v_hat /= 1 - std::pow(o.beta2, step + 1);
  }
  const double update = m_hat / (std::sqrt(v_hat) + o.epsilon) + (decays ? o.weight_decay * p : 0);
  return {p - rate * update, m, v};
}

TEST(AdamW, MatchesItsFormula) {
  const Shape one{DType::f64, {1}}, scalar{DType::f64, {}}, step_shape{DType::s32, {}};
  for (const bool decays : {false, true}) {
    AdamW o;
    o.weight_decay = 0.1;
    Graph graph;
    const Tensor p = graph.argument(one), m = graph.argument(one), v = graph.argument(one);
    const Tensor g = graph.argument(one), rate = graph.argument(scalar),
                 step = graph.argument(step_shape);
    const UpdatedParameter next =
        adamw(o).update({rate, step}, {.name = decays ? "kernel" : "bias", .tensor = p, .init = {}},
                        std::array{m, v}, g);
    const std::vector<Value> values{real_value(one, {0.5}),     real_value(one, {0.2}),
                                    real_value(one, {0.03}),    real_value(one, {-0.7}),
                                    real_value(scalar, {0.01}), integer_value(step_shape, {3})};
    const Expected want = by_hand(o, 0.01, 3, 0.5, 0.2, 0.03, -0.7, decays);
    EXPECT_NEAR(evaluate(next.value, values)[0], want.value, 1e-12);
    EXPECT_NEAR(evaluate(next.slots[0], values)[0], want.m, 1e-12);
    EXPECT_NEAR(evaluate(next.slots[1], values)[0], want.v, 1e-12);
  }
}

// The step is f32 in the program, so the expected values are computed in f32.
TEST(AdamW, AppliesBiasCorrection) {
  const Shape one{DType::f32, {1}}, scalar{DType::f32, {}}, step_shape{DType::s32, {}};
  AdamW o;
  o.bias_correction = BiasCorrection::on;
  Graph graph;
  const Tensor p = graph.argument(one), m = graph.argument(one), v = graph.argument(one);
  const Tensor g = graph.argument(one), rate = graph.argument(scalar),
               step = graph.argument(step_shape);
  const UpdatedParameter next = adamw(o).update(
      {rate, step}, {.name = "kernel", .tensor = p, .init = {}}, std::array{m, v}, g);
  for (const int t : {0, 1, 7}) {
    const std::vector<Value> values{
        real_value(one, {0.5}),     real_value(one, {0.2}),
        real_value(one, {0.03}),    real_value(one, {-0.7}),
        real_value(scalar, {0.01}), integer_value(step_shape, {static_cast<std::uint64_t>(t)})};
    const Expected want = by_hand(o, 0.01, t, 0.5, 0.2, 0.03, -0.7, true);
    EXPECT_NEAR(evaluate(next.value, values)[0], want.value, 1e-6);
    EXPECT_NEAR(evaluate(next.slots[0], values)[0], want.m, 1e-7);
    EXPECT_NEAR(evaluate(next.slots[1], values)[0], want.v, 1e-7);
  }
}

TEST(AdamW, DecaysKernelsAndEmbeddingsOnly) {
  EXPECT_TRUE(has_weight_decay("bert/encoder/layer_0/output/dense/kernel"));
  EXPECT_TRUE(has_weight_decay("bert/embeddings/word_embeddings"));
  EXPECT_TRUE(has_weight_decay("cls/seq_relationship/output_weights"));
  EXPECT_FALSE(has_weight_decay("bert/encoder/layer_0/output/dense/bias"));
  EXPECT_FALSE(has_weight_decay("bert/embeddings/LayerNorm/gamma"));
  EXPECT_FALSE(has_weight_decay("cls/predictions/output_bias"));
}

}  // namespace
}  // namespace smelt::model
