// Compares a scan with the same body unrolled by hand, and its gradient with finite differences.
#include "compiler/autodiff/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/autodiff/scan_cases.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "reference/cpu_device.h"
#include "reference/interpreter.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::testing {

using compiler::constant;
using compiler::convert;
using compiler::cos;
using compiler::Dims;
using compiler::dot_general;
using compiler::DType;
using compiler::emit_module;
using compiler::exp;
using compiler::grad;
using compiler::Graph;
using compiler::iota;
using compiler::is_float;
using compiler::KeepDims;
using compiler::matmul;
using compiler::OpExample;
using compiler::Program;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::scan;
using compiler::ScanBody;
using compiler::ScanStep;
using compiler::Shape;
using compiler::stop_gradient;
using compiler::tanh;
using compiler::Tensor;
using compiler::top_k;
using compiler::transpose;
namespace {

using ::testing::HasSubstr;
using Tensors = std::vector<Tensor>;

constexpr std::array kPolicies{RematPolicy::all, RematPolicy::products, RematPolicy::layer};

std::string policy_name(RematPolicy save) {
  return save == RematPolicy::all ? "all" : save == RematPolicy::products ? "products" : "layer";
}

// A program that returns the results of the case, its loss (the sum of each float result times a
// different weight), and the gradients of all float inputs.
Program program_of(const ScanCase& c, const Loop& loop, bool with_gradients = true) {
  Program p;
  Tensors inputs, wrt;
  for (const OpExample::Input& input : c.inputs) {
    inputs.push_back(p.graph.argument(input.shape));
    if (is_float(input.shape.dtype)) wrt.push_back(inputs.back());
  }
  p.results = c.build(p.graph, inputs, loop);
  Tensor loss;
  for (const Tensor& result : p.results) {
    if (!is_float(result.dtype())) continue;
    const Tensor place =
        convert(iota(p.graph, {DType::s32, {result.shape().elements()}}, 0), result.dtype());
    const Tensor weight = reshape(cos(place * 0.7 + (loss ? 0.3 : 0.1)), result.dims());
    Dims axes;
    for (std::int64_t i = 0; i < result.rank(); ++i) axes.push_back(i);
    const Tensor term = reduce_sum(result * weight, axes);
    loss = loss ? loss + term : term;
  }
  p.results.push_back(loss);
  if (with_gradients)
    for (const Tensor& g : grad(loss, wrt)) p.results.push_back(g);
  return p;
}

std::vector<Value> arguments_of(const ScanCase& c) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    values.push_back(random_value(c.inputs[i], 10 + i));
  return values;
}

std::vector<Value> interpreted(const Program& p, const std::vector<Value>& arguments) {
  return interpret(p.graph, p.results, arguments);
}

void expect_equal(const std::vector<Value>& got, const std::vector<Value>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].shape, want[i].shape) << "result " << i;
    EXPECT_EQ(got[i].bits, want[i].bits) << "result " << i;
    double size = 0;
    for (const double x : want[i].real) size = std::max(size, std::abs(x));
    for (std::size_t j = 0; j < want[i].real.size(); ++j)
      EXPECT_NEAR(got[i].real[j], want[i].real[j], tolerance * std::max(size, 1.0))
          << "result " << i << " at " << j;
  }
}

// Compares every case under every policy, run by `run`, with the unrolled loop in the interpreter.
void expect_equal_to_the_unrolled_loop(DType dtype, const auto& run, double tolerance) {
  for (const ScanCase& c : scan_cases(dtype)) {
    const auto arguments = arguments_of(c);
    const auto want = interpreted(program_of(c, Loop::unrolled()), arguments);
    for (const RematPolicy save : kPolicies) {
      SCOPED_TRACE(str(c.name, ", ", policy_name(save)));
      expect_equal(run(program_of(c, Loop::scanned(save)), arguments), want, tolerance);
    }
  }
}

TEST(Scan, MatchesTheUnrolledLoop) {
  expect_equal_to_the_unrolled_loop(
      DType::f64, [](const auto& program, const auto& in) { return interpreted(program, in); },
      1e-12);
}

TEST(Scan, MatchesTheUnrolledLoopOnTheCpu) {
  REQUIRE_PLUGIN("cpu");
  expect_equal_to_the_unrolled_loop(
      DType::f32, [](const auto& program, const auto& in) { return run_on_cpu(program, in); },
      2e-6);
}

TEST(Scan, WithRematPolicyNoneReturnsTheSameValues) {
  for (const ScanCase& c : scan_cases(DType::f64)) {
    SCOPED_TRACE(c.name);
    const auto arguments = arguments_of(c);
    expect_equal(interpreted(program_of(c, Loop::scanned(RematPolicy::none), false), arguments),
                 interpreted(program_of(c, Loop::unrolled(), false), arguments), 1e-12);
  }
}

// Moves all inputs along one random direction u: (loss(x + h u) - loss(x - h u)) / 2h.
TEST(Scan, GradientMatchesFiniteDifferences) {
  constexpr double kStep = 1e-5;
  for (const ScanCase& c : scan_cases(DType::f64)) {
    if (c.name.find("without") != std::string::npos)
      continue;  // stop_gradient: differences do not apply
    SCOPED_TRACE(c.name);
    const Program p = program_of(c, Loop::scanned(RematPolicy::products));
    const auto arguments = arguments_of(c);
    const auto results = interpreted(p, arguments);
    std::vector<Value> ahead = arguments, behind = arguments;
    std::size_t gradients = 0;
    for (const Value& value : arguments) gradients += value.is_real();
    double along = 0;
    for (std::size_t i = 0, next = results.size() - gradients; i < arguments.size(); ++i) {
      if (!arguments[i].is_real()) continue;
      const Value& gradient = results[next++];
      const Value u = random_value(c.inputs[i], 100 + i);
      for (std::size_t j = 0; j < u.real.size(); ++j) {
        along += gradient.real[j] * u.real[j];
        ahead[i].real[j] += kStep * u.real[j];
        behind[i].real[j] -= kStep * u.real[j];
      }
    }
    const auto loss = [&](const std::vector<Value>& at) {
      return interpreted(p, at)[results.size() - gradients - 1].real[0];
    };
    const double slope = (loss(ahead) - loss(behind)) / (2 * kStep);
    EXPECT_NEAR(along, slope, 1e-7 * (1 + std::abs(slope)));
    EXPECT_GT(std::abs(along), 1e-3);
  }
}

// ---- stored values ----

// A small attention layer: q and k from x with the layer's weight, scores larger than both, a
// pseudo-random mask made from constants, softmax, and a matmul with the values.
class ScanSaves : public ::testing::Test {
 protected:
  // Returns the shapes of the values that the forward pass stores, without the stacked dimension.
  std::vector<std::string> saved_by(RematPolicy save) {
    Graph graph;
    const Tensor x = graph.argument({DType::f32, {2, 8, 4}});
    const Tensor weights = graph.argument({DType::f32, {3, 4, 4}});
    const ScanStep out =
        scan(graph, 3, {x}, save, [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
          return {.carry = {layer(body, carry[0], body.slice(weights))}};
        });
    std::vector<std::string> shapes;
    const std::vector<Shape>& results = out.carry[0].node().results;
    EXPECT_EQ(results[0], x.shape());
    for (std::size_t i = 1; i < results.size(); ++i) {
      EXPECT_EQ(results[i].dims.at(0), 3);
      shapes.push_back(str(results[i]));
    }
    return shapes;
  }

 private:
  static Tensor layer(ScanBody& body, Tensor x, Tensor weight) {
    const Tensor q = matmul(x, weight);  // [2,8,4]
    const Tensor scores = dot_general(q, x, {{0}, {0}, {2}, {2}});
    const Tensor numbers = iota(body.graph(), {DType::f32, {2, 8, 8}}, 2);
    const Tensor mask = cos(numbers * 7.0 + convert(body.index(), DType::f32));
    const Tensor powers = exp(scores);
    const Tensor probs = powers / reduce_sum(powers, {-1}, KeepDims::yes) * mask;
    return tanh(matmul(probs, x));
  }
};

TEST_F(ScanSaves, LayerPolicyStoresTheInputsOfTheIteration) {
  EXPECT_THAT(saved_by(RematPolicy::layer), ::testing::ElementsAre("f32[3,2,8,4]"));
}

// x, q, the sums and the last matmul; not the scores.
TEST_F(ScanSaves, ProductsPolicyStoresMatmulsAndSumsButNotScores) {
  EXPECT_THAT(saved_by(RematPolicy::products),
              ::testing::ElementsAre("f32[3,2,8,4]", "f32[3,2,8,4]", "f32[3,2,8]", "f32[3,2,8,4]"));
}

// x, q, exp(scores), their sums, the quotient, probs and tanh; not the mask, which depends on
// constants only.
TEST_F(ScanSaves, AllPolicyStoresEverythingTheGradientReadsExceptConstants) {
  EXPECT_THAT(
      saved_by(RematPolicy::all),
      ::testing::UnorderedElementsAre("f32[3,2,8,4]", "f32[3,2,8,4]", "f32[3,2,8,8]", "f32[3,2,8]",
                                      "f32[3,2,8,8]", "f32[3,2,8,8]", "f32[3,2,8,4]"));
}

// Scores for slices of q, as in blockwise attention: stores the output, the sums and the last
// matmul.
TEST_F(ScanSaves, BodyWithoutCarryStoresValuesThatDependOnItsSlices) {
  Graph graph;
  const Tensor q = graph.argument({DType::f32, {3, 2, 8, 4}});
  const Tensor k = graph.argument({DType::f32, {2, 16, 4}});
  const ScanStep out =
      scan(graph, 3, {}, RematPolicy::products, [&](ScanBody& body, auto) -> ScanStep {
        const Tensor keys = tanh(body.graph().capture(k));
        const Tensor scores = exp(dot_general(body.slice(q), keys, {{0}, {0}, {2}, {2}}));
        const Tensor sums = reduce_sum(scores, {-1}, KeepDims::yes);
        return {.carry = {}, .outputs = {matmul(scores, keys) / sums}};
      });
  std::vector<std::string> shapes;
  for (const Shape& shape : out.outputs[0].node().results) shapes.push_back(str(shape));
  EXPECT_THAT(shapes, ::testing::ElementsAre("f32[3,2,8,4]", "f32[3,2,8]", "f32[3,2,8,4]"));
}

TEST(Scan, LengthOneEmitsNoLoopAndRecomputesInTheBackwardPass) {
  const auto gradients = [](bool scanned) {
    Program p;
    const Tensor x = p.graph.argument({DType::f64, {4, 3}}),
                 w = p.graph.argument({DType::f64, {1, 3, 3}});
    const auto step = [](Tensor a, Tensor b) { return tanh(matmul(exp(matmul(a, b)), b)); };
    const Tensor y =
        scanned ? scan(p.graph, 1, {x}, RematPolicy::layer,
                       [&](ScanBody& body, auto carry) -> ScanStep {
                         return {.carry = {step(carry[0], body.slice(w))}, .outputs = {carry[0]}};
                       })
                      .carry[0]
                : step(x, reshape(w, {3, 3}));
    p.results = grad(reduce_sum(y * y, {0, 1}), std::array{x, w});
    p.results.push_back(y);
    return p;
  };
  const Program loop = gradients(true), plain = gradients(false);
  const std::vector<Value> in{
      random_value({.shape = {DType::f64, {4, 3}}, .low = -1, .high = 1}, 1),
      random_value({.shape = {DType::f64, {1, 3, 3}}, .low = -1, .high = 1}, 2)};
  expect_equal(interpreted(loop, in), interpreted(plain, in), 1e-12);
  const std::string text = emit_module(loop, "loop");
  EXPECT_THAT(text, ::testing::Not(HasSubstr("stablehlo.while")));
  EXPECT_THAT(text, HasSubstr("stablehlo.optimization_barrier"));
}

TEST_F(ScanSaves, NonePolicyStoresNothing) {
  EXPECT_THAT(saved_by(RematPolicy::none), ::testing::IsEmpty());
}

TEST(Scan, ComputesGradientsOnlyOfDifferentiableInputs) {
  Graph graph;
  const Tensor x = graph.argument({DType::f32, {2}}), w = graph.argument({DType::f32, {2}});
  const Tensor mask = convert(graph.argument({DType::s32, {2}}), DType::f32);
  const ScanStep out =
      scan(graph, 3, {x}, RematPolicy::all, [&](ScanBody&, auto carry) -> ScanStep {
        return {.carry = {carry[0] * mask * stop_gradient(w) * w * stop_gradient(x)}};
      });
  // Inputs: x, mask, stopped w, w, stopped x.
  EXPECT_EQ(out.carry[0].node().attrs.dims("gradient_of"), (Dims{0, 3}));
}

TEST_F(ScanSaves, StoresNothingIfNoGradientIsPossible) {
  Graph graph;
  const Tensor ids = graph.argument({DType::s32, {4}});
  const ScanStep out =
      scan(graph, 3, {ids}, RematPolicy::all,
           [&](ScanBody&, auto carry) -> ScanStep { return {.carry = {carry[0] + carry[0]}}; });
  EXPECT_EQ(out.carry[0].node().results.size(), 1u);
}

// ---- error messages ----

ScanStep identity(ScanBody&, std::span<const Tensor> carry) {
  return {.carry = {carry.begin(), carry.end()}};
}

TEST(Scan, RejectsACarryThatChangesItsShape) {
  Graph graph;
  const Tensor a = graph.argument({DType::f32, {}}), x = graph.argument({DType::f32, {2, 3}});
  const auto with = [&](Tensor (*change)(Tensor)) {
    return error_of([&] {
      scan(graph, 3, {a, x}, RematPolicy::all,
           [&](ScanBody&, auto carry) { return ScanStep{{carry[0], change(carry[1])}}; });
    });
  };
  EXPECT_EQ(with([](Tensor t) { return transpose(t, {1, 0}); }),
            "scan: carried value 1 has shape f32[2,3] before and f32[3,2] after an iteration\n"
            "  hint: keep the shape of every carried value");
  EXPECT_THAT(with([](Tensor t) { return convert(t, DType::bf16); }),
              HasSubstr("value 1 has shape f32[2,3] before and bf16[2,3] after"));
}

TEST(Scan, RejectsAStackOfAnotherLength) {
  Graph graph;
  const Tensor x = graph.argument({DType::f32, {2}});
  for (const Dims& dims : {Dims{4, 2}, Dims{}})
    EXPECT_EQ(
        error_of([&] {
          scan(graph, 3, {x}, RematPolicy::all, [&](ScanBody& body, auto carry) {
            const Tensor stacked = constant(body.outer(), 0, DType::f32, dims);
            return ScanStep{{carry[0] * body.slice(stacked)}};
          });
        }),
        str("scan: the first dimension of ", Shape{DType::f32, dims},
            " must equal the number of iterations, 3\n  hint: stack one value per iteration"));
}

TEST(Scan, RejectsLengthZero) {
  Graph graph;
  const Tensor x = graph.argument({DType::f32, {2}});
  EXPECT_EQ(error_of([&] { scan(graph, 0, {x}, RematPolicy::all, identity); }),
            "scan: length is 0, must be at least 1\n  hint: pass a positive number of iterations");
}

TEST(Scan, WithRematPolicyNoneHasNoGradient) {
  const auto gradient = [](RematPolicy save, int times) {
    Graph graph;
    const Tensor x = graph.argument({DType::f64, {}});
    const ScanStep out = scan(
        graph, 3, {x}, save, [](ScanBody&, auto carry) { return ScanStep{{carry[0] * carry[0]}}; });
    return error_of([&] {
      Tensor y = out.carry[0];
      for (int i = 0; i < times; ++i) y = grad(y, std::array{x})[0];
    });
  };
  EXPECT_EQ(gradient(RematPolicy::none, 1),
            "grad: a scan with RematPolicy::none has no gradient\n"
            "  hint: choose another RematPolicy, or wrap its inputs in stop_gradient");
  EXPECT_EQ(gradient(RematPolicy::layer, 1), "no error");
  EXPECT_EQ(gradient(RematPolicy::layer, 2),
            "grad: a scan has no second derivative\n"
            "  hint: unroll the loop, or wrap the first derivative in stop_gradient");
}

TEST(Scan, RejectsABodyWithOpsWithoutGradient) {
  Graph graph;
  const Tensor x = graph.argument({DType::f64, {4}});
  EXPECT_THAT(error_of([&] {
                scan(graph, 3, {x}, RematPolicy::all, [](ScanBody&, auto carry) {
                  return ScanStep{{reshape(top_k(carry[0], 4)[0], {4})}};
                });
              }),
              HasSubstr("grad: top_k has no gradient"));
}

}  // namespace
}  // namespace smelt::testing
