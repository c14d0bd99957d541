#include "model/nn/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "reference/evaluate.h"

namespace smelt::model {

using compiler::DType;
using compiler::grad;
using compiler::Graph;
using compiler::reduce_sum;
using compiler::Shape;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::HasSubstr;

Value draw(const Shape& shape, std::uint64_t seed) {
  return random_value({.shape = shape, .low = -2, .high = 2}, seed);
}

// Computes einsum with plain loops over all letters.
std::vector<double> naive_einsum(const std::string& a, const std::string& b, const std::string& out,
                                 const std::map<char, std::int64_t>& size, const Value& x,
                                 const Value& y) {
  const auto place = [&](const std::string& letters, const std::map<char, std::int64_t>& at) {
    std::int64_t position = 0;
    for (const char c : letters) position = position * size.at(c) + at.at(c);
    return position;
  };
  std::int64_t count = 1, all = 1;
  for (const char c : out) count *= size.at(c);
  for (const auto& [c, n] : size) all *= n;
  std::vector<double> result(count);
  for (std::int64_t i = 0; i < all; ++i) {
    std::map<char, std::int64_t> at;
    std::int64_t rest = i;
    for (const auto& [c, n] : size) at[c] = rest % n, rest /= n;
    result[place(out, at)] += x.real[place(a, at)] * y.real[place(b, at)];
  }
  return result;
}

TEST(Einsum, SumsOverLettersMissingInTheResult) {
  const std::map<char, std::int64_t> sizes{{'b', 2}, {'q', 3}, {'k', 4}, {'n', 2},
                                           {'d', 5}, {'h', 3}, {'v', 6}};
  const std::vector<std::array<std::string, 3>> patterns{
      {"bqnd", "bknd", "bnqk"}, {"bnqk", "bknd", "bqnd"}, {"qh", "vh", "qv"},
      {"qh", "hv", "vq"},       {"bqk", "bkh", "bqh"},    {"bd", "kd", "bk"}};
  for (const auto& [a, b, out] : patterns) {
    std::map<char, std::int64_t> used;
    const auto shape = [&](const std::string& letters) {
      Shape s{DType::f64, {}};
      for (const char c : letters) s.dims.push_back(used[c] = sizes.at(c));
      return s;
    };
    const Shape shape_a = shape(a), shape_b = shape(b);
    Graph graph;
    const Tensor left = graph.argument(shape_a), right = graph.argument(shape_b);
    const Tensor result = einsum(a + "," + b + "->" + out, left, right);
    const Value x = draw(shape_a, 1), y = draw(shape_b, 2);
    const auto got = evaluate(result, {x, y}), want = naive_einsum(a, b, out, used, x, y);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 1e-12) << a << "," << b;
  }
}

TEST(Einsum, ThrowsIfSizesOfALetterDiffer) {
  Graph graph;
  const Tensor a = graph.argument({DType::f32, {2, 3}}), b = graph.argument({DType::f32, {4, 5}});
  try {
    einsum("ij,jk->ik", a, b);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dimension j is 3 in f32[2,3] and 4 in f32[4,5]"));
  }
}

TEST(Softmax, SumsToOneAndDoesNotOverflow) {
  const Shape shape{DType::f64, {2, 3}};
  Graph graph;
  const Tensor x = graph.argument(shape);
  const auto p = evaluate(softmax(x), {real_value(shape, {1, 2, 3, 1001, 1002, 1003})});
  EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-12);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(p[i], p[i + 3], 1e-12);
  EXPECT_NEAR(p[2] / p[1], std::exp(1), 1e-12);
}

TEST(CrossEntropy, IsTheNegativeLogProbabilityOfTheLabel) {
  const Shape shape{DType::f64, {2, 3}}, labels{DType::s32, {2}};
  Graph graph;
  const Tensor x = graph.argument(shape), y = graph.argument(labels);
  const auto loss = evaluate(
      cross_entropy(x, y), {real_value(shape, {1, 2, 3, 0, 0, 0}), integer_value(labels, {0, 2})});
  EXPECT_NEAR(loss[0], std::log(1 + std::exp(1) + std::exp(2)), 1e-12);
  EXPECT_NEAR(loss[1], std::log(3), 1e-12);
}

TEST(SigmoidCrossEntropy, GradientIsLogisticMinusLabelEverywhere) {
  const Shape shape{DType::f64, {5}};
  Graph graph;
  const Tensor x = graph.argument(shape), label = graph.argument(shape);
  const Tensor loss = sigmoid_cross_entropy(x, label);
  const std::vector<double> logits{0, 0, 3, -800, 800}, labels{0, 1, 1, 1, 0};
  const std::vector<Value> in{real_value(shape, logits), real_value(shape, labels)};
  const auto values = evaluate(loss, in);
  const auto slopes = evaluate(grad(reduce_sum(loss, {0}), std::array{x})[0], in);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double q = 1 / (1 + std::exp(-logits[i]));
    EXPECT_NEAR(slopes[i], q - labels[i], 1e-12) << i;
    if (i < 3)
      EXPECT_NEAR(values[i], -std::log(labels[i] == 1 ? q : 1 - q), 1e-12) << i;
    else
      EXPECT_EQ(values[i], 800) << i;
  }
}

TEST(RowsOfPositions, ReturnsTheFirstRowsOrTheRowsAtGivenPositions) {
  const Shape shape{DType::f64, {3, 1}}, at{DType::s32, {2, 2}};
  Graph graph;
  const Tensor table = graph.argument(shape), positions = graph.argument(at);
  const std::vector<Value> in{real_value(shape, {10, 11, 12}), integer_value(at, {2, 0, 1, 1})};
  EXPECT_EQ(evaluate(rows_of_positions(table, {}, 2), in), (std::vector<double>{10, 11}));
  EXPECT_EQ(evaluate(rows_of_positions(table, positions, 2), in),
            (std::vector<double>{12, 10, 11, 11}));
}

TEST(LayerNorm, CentersScalesAndShifts) {
  const Shape shape{DType::f32, {2, 4}}, width{DType::f32, {4}};
  Graph graph;
  const Tensor x = graph.argument(shape);
  Parameters parameters;
  const Tensor y = layer_norm(Scope(graph, parameters), x, 1e-12);
  const auto got =
      evaluate(y, {real_value(shape, {1, 2, 3, 4, -8, 0, 0, 8}),
                   real_value(width, {10, 10, 10, 10}), real_value(width, {2, 2, 2, 2})});
  EXPECT_EQ(parameters.all()[0].name, "beta");
  const double scale = 2 / std::sqrt(1.25);
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(got[i], 10 + scale * (i - 1.5), 1e-6);
  EXPECT_NEAR(got[4], 10 - 2 * 8 / std::sqrt(32.0), 1e-6);
}

TEST(Gelu, MatchesTheOriginalApproximation) {
  const Shape shape{DType::f64, {3}};
  Graph graph;
  const Tensor x = graph.argument(shape);
  const auto got = evaluate(activation("gelu", x), {real_value(shape, {-1, 0, 2})});
  EXPECT_NEAR(got[0], -0.15880800939172324, 1e-12);
  EXPECT_NEAR(got[1], 0, 1e-12);
  EXPECT_NEAR(got[2], 1.954597694087775, 1e-12);
  try {
    activation("gellu", x);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("unknown activation 'gellu'\n  hint: did you mean 'gelu'?"));
  }
}

// Applies dropout to ones: shows which elements are kept, and the scale.
std::vector<double> dropped(std::uint64_t seed, std::uint64_t step, const char* place) {
  const Shape shape{DType::f32, {64, 128}}, scalar{DType::s32, {}};
  Graph graph;
  const Tensor x = graph.argument(shape), t = graph.argument(scalar);
  Parameters parameters;
  const Scope root(graph, parameters, RandomSource{.seed = seed, .step = t});
  return evaluate(
      dropout(root / place, x, 0.25),
      {real_value(shape, std::vector<double>(64 * 128, 1.0)), integer_value(scalar, {step})});
}

TEST(Dropout, KeepsTheExpectedShareAndTheMean) {
  const auto kept = dropped(1, 0, "a");
  const double share =
      static_cast<double>(std::ranges::count_if(kept, [](double x) { return x != 0; })) / 8192;
  EXPECT_NEAR(share, 0.75, 0.02);  // four standard deviations
  for (const double x : kept) EXPECT_TRUE(x == 0 || std::abs(x - 1 / 0.75) < 1e-4) << x;
}

TEST(Dropout, DependsOnlyOnSeedStepAndScope) {
  const auto base = dropped(1, 5, "a");
  EXPECT_EQ(dropped(1, 5, "a"), base);
  EXPECT_NE(dropped(2, 5, "a"), base);
  EXPECT_NE(dropped(1, 6, "a"), base);
  EXPECT_NE(dropped(1, 5, "b"), base);
}

TEST(Dropout, IsTheIdentityInEvaluationOrAtRateZero) {
  Graph graph;
  Parameters parameters;
  const Tensor x = graph.argument({DType::f32, {4}});
  EXPECT_EQ(dropout(Scope(graph, parameters), x, 0.5), x);
  const Tensor step = graph.argument({DType::s32, {}});
  EXPECT_EQ(dropout(Scope(graph, parameters, RandomSource{.seed = 1, .step = step}), x, 0), x);
}

TEST(Scope, RejectsDuplicateNames) {
  Graph graph;
  Parameters parameters;
  const Scope s = Scope(graph, parameters) / "bert" / "pooler";
  const Tensor bias = s.parameter("bias", {4}, {});
  EXPECT_EQ(parameters.all()[0].name, "bert/pooler/bias");
  EXPECT_EQ(s.shared("bert/pooler/bias"), bias);
  EXPECT_THROW(s.parameter("bias", {4}, {}), BugError);
  EXPECT_THROW(s.shared("bert/pooler/kernel"), BugError);
}

}  // namespace
}  // namespace smelt::model
