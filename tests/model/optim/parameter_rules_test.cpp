// LAMB compared with hand-written formulas; learning rates and decay of single parameters. Stacked
// layers behave like single ones.
#include "model/optim/parameter_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "compiler/ops/ops.h"
#include "model/optim/adafactor.h"
#include "model/optim/amos.h"
#include "model/optim/lamb.h"
#include "model/optim/stable_adamw.h"
#include "reference/evaluate.h"
#include "support/error_of.h"

namespace smelt::model {

using compiler::constant;
using compiler::Dims;
using compiler::DType;
using compiler::Graph;
using compiler::Shape;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

const std::vector<double> kValues{3, 4, 0.3, 0.4}, kGradients{0.5, -0.25, 2, 1};

// Returns the result of the first step with rate 0.1 for a parameter of `one` elements, or a stack
// of such layers.
std::vector<double> updated(const Optimizer& optimizer, const ParameterRules& rules,
                            const std::string& name, std::int64_t layers,
                            std::vector<double> values, std::vector<double> gradients,
                            const Dims& one = {2}, DType dtype = DType::f64) {
  const Shape shape{dtype, stacked_dims(layers, one)};
  Graph graph;
  const Tensor value = graph.argument(shape), gradient = graph.argument(shape);
  const Tensor step = graph.argument({DType::s32, {}}), rate = graph.argument({dtype, {}});
  const Parameter p{.name = name, .tensor = value, .init = {}, .layers = layers};
  std::vector<Tensor> slots;
  for (const Slot& slot : optimizer.slots(p))
    slots.push_back(constant(graph, slot.start, dtype, stacked_dims(layers, slot.dims)));
  const double decay = optimizer.weight_decay ? optimizer.weight_decay(p) : 0;
  const UpdatedParameter next = optimizer.update(rules.of(p, {.rate = rate, .step = step}, decay),
                                                 p, slots, rules.mask_frozen(p, gradient));
  return evaluate(rules.keep_frozen(p, next.value),
                  {real_value(shape, std::move(values)), real_value(shape, std::move(gradients)),
                   integer_value({DType::s32, {}}, {0}), real_value({dtype, {}}, {0.1})});
}

// Returns the `size` elements of one layer.
std::vector<double> part(const std::vector<double>& of, std::ptrdiff_t layer,
                         std::ptrdiff_t size = 2) {
  return {of.begin() + size * layer, of.begin() + size * (layer + 1)};
}

// Without bias correction the first Adam direction is 0.1 g / (sqrt(0.001) |g| + epsilon).
AdamW plain() { return {.epsilon = 1e-12, .bias_correction = BiasCorrection::off}; }

TEST(Lamb, ScalesEachUpdateToTheNormOfItsLayer) {
  const double size = 0.1 / std::sqrt(0.001);
  const auto by_hand = [&](std::ptrdiff_t layer, double most) {
    const auto x = part(kValues, layer), g = part(kGradients, layer);
    std::vector<double> change;
    for (std::size_t i = 0; i < 2; ++i) change.push_back(std::copysign(size, g[i]) + 0.01 * x[i]);
    const double ratio = std::min(std::hypot(x[0], x[1]), most) / std::hypot(change[0], change[1]);
    return std::vector{x[0] - 0.1 * ratio * change[0], x[1] - 0.1 * ratio * change[1]};
  };
  for (const double most : {0.0, 1.0}) {
    const Optimizer optimizer = lamb({.adam = plain(), .most_norm = most});
    const auto stack = updated(optimizer, {}, "layer_*/kernel", 2, kValues, kGradients);
    for (const std::ptrdiff_t layer : {0, 1}) {
      const auto want = by_hand(layer, most > 0 ? most : 1e9);
      EXPECT_THAT(part(stack, layer), Pointwise(DoubleNear(1e-9), want)) << layer;
      EXPECT_THAT(
          updated(optimizer, {}, "kernel", 0, part(kValues, layer), part(kGradients, layer)),
          Pointwise(DoubleNear(1e-9), want));
    }
  }
}

TEST(Lamb, DoesNotScaleNormsBiasesAndZeros) {
  const Optimizer optimizer = lamb({.adam = plain()});
  const auto same = [&](const char* name, const std::vector<double>& x) {
    AdamW adam = plain();
    if (x[0] == 0) adam.weight_decay = 0;
    EXPECT_THAT(updated(optimizer, {}, name, 0, x, {0.5, -0.25}),
                Pointwise(DoubleNear(1e-9), updated(adamw(adam), {}, name, 0, x, {0.5, -0.25})));
  };
  same("LayerNorm/gamma", {3, 4});
  same("dense/bias", {3, 4});
  same("kernel", {0, 0});
}

NameRules rules_for(const char* field, const char* text) {
  return {field, parse_rules(field, text)};
}

TEST(ParameterRules, StackedLayersAreUpdatedLikeSingleOnes) {
  const ParameterRules rules(rules_for("rate", "layer_0/ = 0; layer_1/ = 0.5"),
                             rules_for("decay", "layer_1/ = 0.2"));
  const auto stack = updated(adamw(plain()), rules, "layer_*/kernel", 2, kValues, kGradients);
  EXPECT_EQ(part(stack, 0), part(kValues, 0));
  const auto alone =
      updated(adamw(plain()), rules, "layer_1/kernel", 0, part(kValues, 1), part(kGradients, 1));
  EXPECT_EQ(part(stack, 1), alone);
  const double size = 0.1 / std::sqrt(0.001);
  EXPECT_NEAR(alone[0], 0.3 - 0.05 * (size + 0.2 * 0.3), 1e-9);
  EXPECT_EQ(updated(adamw(plain()), rules, "other/kernel", 0, {1, 2}, {3, 4}),
            updated(adamw(plain()), {}, "other/kernel", 0, {1, 2}, {3, 4}));
}

// All optimizers that a recipe can name, with weight decay if supported.
std::vector<std::pair<std::string, Optimizer>> all_optimizers() {
  const NameRules eta = rules_for("eta", ".* = 1"), slots = rules_for("slots", ".* = ()");
  using A = Adafactor;
  return {{"adamw", adamw({.weight_decay = 0.1, .bias_correction = BiasCorrection::on})},
          {"stable_adamw", stable_adamw({.weight_decay = 0.1})},
          {"lamb", lamb({.adam = {.weight_decay = 0.1}})},
          {"amos", amos({.eta = eta, .slot_shape = slots, .extra_l2 = 0.1})},
          {"adafactor", adafactor({.weight_decay = 0.1, .least_factored = 2})},
          {"adafactor with momentum", adafactor({.momentum = 0.9, .weight_decay = 0.1})},
          {"hf_adafactor",
           adafactor(
               {.weight_decay = 0.1, .decay = A::Decay::by_rate, .factored = A::Factored::last})}};
}

// Layer 0 is frozen, with and without a decay rule; layer 1 has half the rate.
TEST(ParameterRules, FrozenLayersOfAStackDoNotChangeWithAnyOptimizer) {
  const std::vector<double> values{3, 4, 0.3, 0.4, -1, 2, 1, -2, 0.5, 0.25, 3, -0.5};
  const std::vector<double> gradients{0.5, -0.25, 2, 1, 0.1, 0.2, -1, 0.75, 0.3, 0.6, 2, -3};
  const Dims one{2, 3};
  for (const char* decay : {"layer_1/ = 0.2", "layer_0/ = 0.3; layer_1/ = 0.2", ""})
    for (const auto& [name, optimizer] : all_optimizers()) {
      SCOPED_TRACE(str(name, ", decay_rules: ", decay));
      const ParameterRules rules(rules_for("rate", "layer_0/ = 0; layer_1/ = 0.5"),
                                 rules_for("decay", decay));
      const auto stack =
          updated(optimizer, rules, "layer_*/kernel", 2, values, gradients, one, DType::f32);
      const auto kept = part(values, 0, 6);
      for (std::size_t i = 0; i < 6; ++i)
        EXPECT_EQ(static_cast<float>(stack[i]), static_cast<float>(kept[i])) << i;
      const auto alone = updated(optimizer, rules, "layer_1/kernel", 0, part(values, 1, 6),
                                 part(gradients, 1, 6), one, DType::f32);
      EXPECT_THAT(part(stack, 1, 6), Pointwise(DoubleNear(1e-6), alone));
      EXPECT_NE(alone, part(values, 1, 6));
    }
}

TEST(ParameterRules, FreezeAParameterIfAllLayersHaveRateZero) {
  Graph graph;
  const Tensor t = graph.argument({DType::f32, {2, 2}});
  const Parameter stack{.name = "layer_*/kernel", .tensor = t, .init = {}, .layers = 2};
  EXPECT_FALSE(ParameterRules().frozen(stack));
  EXPECT_FALSE(ParameterRules(rules_for("rate", "layer_0 = 0"), {}).frozen(stack));
  EXPECT_TRUE(ParameterRules(rules_for("rate", "layer = 0"), {}).frozen(stack));
}

TEST(ParameterRules, RejectUnmatchedRulesAndInvalidValues) {
  Graph graph;
  const Tensor t = graph.argument({DType::f32, {3}});
  const std::vector<Parameter> all{{.name = "bert/pooler/dense/bias", .tensor = t, .init = {}}};
  const auto refusal = [&](const char* text) {
    return error_of<UsageError>([&] {
      const ParameterRules rules(rules_for("train.optimizer.rate_rules", text), {});
      rules.check(all);
      (void)rules.frozen(all[0]);
    });
  };
  EXPECT_EQ(refusal("bert/poler/dense/bias = 0"),
            "train.optimizer.rate_rules: 'bert/poler/dense/bias' matches none of the 1 parameters\n"
            "  hint: did you mean 'bert/pooler/dense/bias'?");
  EXPECT_THAT(refusal("bert/poler/.* = 0"), HasSubstr("did you mean 'bert/pooler'?"));
  EXPECT_THAT(refusal(".*/densse/.* = 0"), HasSubstr("did you mean 'dense'?"));
  EXPECT_THAT(refusal("embeddings = 0"),
              HasSubstr("hint: use names such as bert/pooler/dense/bias"));
  EXPECT_THAT(refusal(".* = -1"), HasSubstr("train.optimizer.rate_rules: bert/pooler/dense/bias is "
                                            "-1, must be a number of at least 0"));
  EXPECT_THAT(refusal(".* = SHAPE"), HasSubstr("is (3,), must be a number of at least 0"));
  EXPECT_EQ(refusal("bert/.*/bias = 0"), "no error");
}

}  // namespace
}  // namespace smelt::model
