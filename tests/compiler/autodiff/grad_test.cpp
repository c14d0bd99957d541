// Reverse-mode differentiation. tests/compiler/ops checks the gradient rule of each op.
#include "compiler/autodiff/grad.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
#include "compiler/ir/op.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "reference/interpreter.h"

namespace smelt::testing {

using compiler::add;
using compiler::argmax;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::constant;
using compiler::Dims;
using compiler::DType;
using compiler::gather_rows;
using compiler::grad;
using compiler::Graph;
using compiler::HloWriter;
using compiler::maximum;
using compiler::Node;
using compiler::Op;
using compiler::optimization_barrier;
using compiler::power;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::sort;
using compiler::stop_gradient;
using compiler::straight_through;
using compiler::Tensor;
using compiler::top_k;
namespace {

class Grad : public ::testing::Test {
 protected:
  Tensor f64(Dims dims) { return graph.argument({DType::f64, std::move(dims)}); }
  Tensor gradient(Tensor loss, Tensor w) { return grad(loss, std::array{w})[0]; }
  double evaluate(Tensor t, std::vector<double> scalars) {
    std::vector<Value> arguments;
    for (const double x : scalars) arguments.push_back({{DType::f64, {}}, {x}, {}});
    return interpret(graph, {t}, arguments)[0].real.at(0);
  }

  Graph graph;
};

std::string message(const std::function<void()>& build) {
  try {
    build();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Grad, FollowsTheProductRule) {
  const Tensor x = f64({}), y = f64({});
  const auto d = grad(x * x * y + y, std::array{x, y});
  EXPECT_EQ(evaluate(d[0], {3, 5}), 30);  // 2xy
  EXPECT_EQ(evaluate(d[1], {3, 5}), 10);  // x² + 1
}

TEST_F(Grad, CanBeDifferentiatedAgain) {
  const Tensor x = f64({});
  const Tensor first = gradient(x * x * x * x, x);
  EXPECT_EQ(evaluate(gradient(first, x), {3}), 108);  // 12x²
}

TEST_F(Grad, GradientOfTheLossWithRespectToItselfIsOne) {
  const Tensor x = f64({});
  EXPECT_EQ(evaluate(gradient(x, x), {3}), 1);
}

TEST_F(Grad, IsZeroIfTheLossDoesNotDependOnTheTensor) {
  const Tensor x = f64({}), y = f64({});
  const Tensor d = gradient(x * x, y);
  EXPECT_EQ(d.shape(), y.shape());
  EXPECT_EQ(evaluate(d, {3, 5}), 0);
}

TEST_F(Grad, StopsAtStopGradient) {
  const Tensor x = f64({});
  EXPECT_EQ(evaluate(gradient(x * stop_gradient(x * x), x), {3}), 9);
  EXPECT_EQ(evaluate(gradient(stop_gradient(x * x), x), {3}), 0);
}

TEST_F(Grad, StraightThroughUsesTheGradientOfItsSource) {
  const Tensor x = f64({});
  EXPECT_EQ(evaluate(straight_through(x * x * x, x * x), {3}), 27);
  EXPECT_EQ(evaluate(gradient(straight_through(x * x * x, x * x), x), {3}), 6);
}

TEST_F(Grad, WalksAChainOf100000NodesWithoutRecursion) {
  const Tensor x = f64({});
  Tensor y = x;
  const Tensor zero = constant(graph, 0, DType::f64);
  for (int i = 0; i < 100000; ++i) y = add(y, zero);
  const Tensor d = gradient(y * y, x);
  EXPECT_EQ(evaluate(d, {3}), 6);
  HloWriter writer;
  writer.bind_arguments(graph, "%arg");
  writer.body(graph, {d}, "func.return");
  EXPECT_GT(writer.take().size(), 100000u);
}

TEST_F(Grad, AllowsOpsWithoutGradientOffThePath) {
  const Tensor x = f64({}), y = f64({4});
  const auto larger = [](Graph&, auto in) {
    return std::vector{compare(in[0], in[1], Compare::gt)};
  };
  const Tensor sorted = sort({y}, 0, larger)[0];
  const Tensor d = gradient(x * reduce_sum(sorted, {0}), x);
  EXPECT_EQ(d.shape(), x.shape());
}

TEST_F(Grad, AllowsOpsWithoutGradientIfNoCotangentReachesThem) {
  const Tensor x = f64({4});
  // The indices depend on x through a sort, but no gradient flows through integers.
  const Tensor best = top_k(x, 1)[1];
  EXPECT_EQ(gradient(reduce_sum(gather_rows(x, best), {0}), x).shape(), x.shape());
}

TEST_F(Grad, ThrowsForAnOpWithoutGradient) {
  const Tensor x = f64({4});
  EXPECT_EQ(message([&] { gradient(reduce_sum(top_k(x, 2)[0], {0}), x); }),
            "grad: top_k has no gradient\n  hint: wrap its input in stop_gradient");
  const Tensor largest = reshape(top_k(stop_gradient(x), 1)[0], {});
  const Tensor d = gradient(largest * reduce_sum(x, {0}), x);
  const Value four{{DType::f64, {4}}, {1, 5, 2, 3}, {}};
  EXPECT_EQ(interpret(graph, {d}, {four})[0].real, std::vector(4, 5.0));
}

TEST_F(Grad, RejectsALossThatIsNotAScalarFloat) {
  const Tensor x = f64({4});
  EXPECT_EQ(message([&] { gradient(x, x); }),
            "grad: the loss is f64[4], expected a scalar float\n"
            "  hint: reduce it to a scalar, for example with reduce_sum over all axes");
  EXPECT_EQ(message([&] { gradient(argmax(x, 0), x); }).substr(0, 51),
            "grad: the loss is i32[], expected a scalar float\n  ");
}

TEST_F(Grad, RejectsParametersThatAreNotFloats) {
  const Tensor x = f64({}), ids = graph.argument({DType::s32, {3}});
  EXPECT_EQ(message([&] { gradient(x, ids); }),
            "grad: cannot differentiate with respect to i32[3]\n  hint: pass floating-point "
            "tensors only");
}

TEST_F(Grad, UsesOnlyTheResultsOfANodeThatReachTheLoss) {
  const Tensor x = f64({}), y = f64({});
  const auto passed = optimization_barrier({x, y});
  const auto d = grad(passed[0] * passed[0], std::array{x, y});
  EXPECT_EQ(evaluate(d[0], {3, 5}), 6);
  EXPECT_EQ(evaluate(d[1], {3, 5}), 0);
}

TEST_F(Grad, CanBeTakenWithRespectToAnIntermediateValue) {
  const Tensor x = f64({});
  const Tensor square = x * x;
  EXPECT_EQ(evaluate(gradient(square * square, square), {3}), 18);
}

// Kinks and ties, which the finite-difference tests with random values cannot reach.
TEST_F(Grad, SplitsTiesAsDocumented) {
  const Tensor x = f64({}), y = f64({});
  const auto of_max = grad(maximum(x, y), std::array{x, y});
  EXPECT_EQ(evaluate(of_max[0], {2, 2}), 1);
  EXPECT_EQ(evaluate(of_max[1], {2, 2}), 0);
  const auto pair = concatenate({reshape(x, {1}), reshape(y, {1})}, 0);
  EXPECT_EQ(evaluate(gradient(reduce_max(pair, {0}), x), {2, 2}), 0.5);
}

TEST_F(Grad, PowerHasAFiniteGradientAtZero) {
  const Tensor x = f64({}), y = f64({});
  const auto d = grad(power(x, y), std::array{x, y});
  EXPECT_EQ(evaluate(d[0], {0, 2}), 0);
  EXPECT_EQ(evaluate(d[1], {0, 2}), 0);
  EXPECT_EQ(evaluate(d[0], {0, 0}), 0);
}

const Op kWrongCount{
    .name = "wrong_count",
    .infer = [](const Node& node) { return std::vector<compiler::Shape>{node.inputs[0].shape()}; },
    .vjp = [](const Node&, std::span<const Tensor>) { return std::vector<Tensor>(); },
    .emit = nullptr,
    .examples = nullptr};
const Op kWrongShape{
    .name = "wrong_shape",
    .infer = [](const Node&) { return std::vector<compiler::Shape>{{DType::f64, {}}}; },
    .vjp = [](const Node&, std::span<const Tensor> cts) { return std::vector{cts[0]}; },
    .emit = nullptr,
    .examples = nullptr};

TEST_F(Grad, RejectsRulesWithWrongCotangents) {
  const Tensor x = f64({}), v = f64({3});
  EXPECT_THROW(gradient(Tensor(&graph.apply(kWrongCount, {x}), 0), x), BugError);
  EXPECT_THROW(gradient(Tensor(&graph.apply(kWrongShape, {v}), 0), v), BugError);
}

}  // namespace
}  // namespace smelt::testing
