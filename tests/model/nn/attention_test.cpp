// Blockwise attention compared with attention over all queries; positions compared with plain
// loops.
#include "model/nn/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::emit_module;
using compiler::grad;
using compiler::Graph;
using compiler::iota;
using compiler::Program;
using compiler::reduce_sum;
using compiler::Shape;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::HasSubstr;

constexpr std::int64_t B = 2, Q = 8, S = 6, N = 3, D = 4;

Shape f32(Dims dims) { return {DType::f32, std::move(dims)}; }

using Biases = std::vector<Dims>;
const Biases kOfKeys{{B, 1, 1, S}}, kOfQueries{{B, 1, Q, S}}, kOfHeads{{1, N, Q, S}},
    kOfHeadsAndKeys{{B, 1, 1, S}, {1, N, Q, S}}, kOfAll{{B, N, Q, S}};

// The context, and the gradients of q, k, v and the biases of a weighted sum of it.
struct Attended {
  explicit Attended(std::int64_t rows, double dropout = 0.3, const Biases& bias_dims = kOfKeys,
                    bool stored_scores = true) {
    const Tensor step = program.graph.argument({DType::s32, {}});
    Parameters parameters;
    const Scope s(program.graph, parameters, RandomSource{.seed = 5, .step = step},
                  {.stored_scores = stored_scores,
                   .softmax_by_context = !stored_scores,
                   .attention_rows = rows});
    const Tensor q = program.graph.argument(f32({B, Q, N, D}));
    const Tensor k = program.graph.argument(f32({B, S, N, D}));
    const Tensor v = program.graph.argument(f32({B, S, N, D}));
    std::vector<Tensor> biases, wrt{q, k, v};
    for (const Dims& dims : bias_dims) biases.push_back(program.graph.argument(f32(dims)));
    wrt.insert(wrt.end(), biases.begin(), biases.end());
    const Tensor weights = program.graph.argument(f32({B, Q, N, D}));
    const Tensor context =
        attention(s / "self", {.q = q, .k = k, .v = v, .biases = biases, .dropout = dropout});
    program.results = grad(reduce_sum(context * weights, {0, 1, 2, 3}), wrt);
    program.results.push_back(context);
  }

  std::vector<Value> arguments() const {
    std::vector<Value> out{integer_value({DType::s32, {}}, {3})};
    for (std::size_t i = 1; i < program.graph.arguments().size(); ++i)
      out.push_back(random_value(
          {.shape = program.graph.arguments()[i].shape(), .low = -2, .high = 2}, 100 + i));
    return out;
  }
  std::vector<Value> values() const {
    return interpret(program.graph, program.results, arguments());
  }

  Program program;
};

void expect_same(const Attended& got, const Attended& want) {
  const auto a = got.values(), b = want.values();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].shape, b[i].shape);
    for (std::size_t j = 0; j < b[i].real.size(); ++j)
      ASSERT_NEAR(a[i].real[j], b[i].real[j], 1e-12) << "result " << i << " at " << j;
  }
}

TEST(Attention, BlocksOfQueriesMatchAllQueriesWithDropoutAndGradients) {
  for (const std::int64_t rows : {1, 2, 4}) expect_same(Attended(rows), Attended(0));
  expect_same(Attended(2, 0.3, kOfQueries), Attended(0, 0.3, kOfQueries));
}

TEST(Attention, BlocksThatDoNotDivideTheQueriesMatchAllQueries) {
  for (const std::int64_t rows : {3, 5, 7})
    for (const Biases& biases : {kOfKeys, kOfQueries, kOfHeads})
      expect_same(Attended(rows, 0.3, biases), Attended(0, 0.3, biases));
}

// The encoder and the decoder may have different lengths but share one block size.
TEST(Attention, UsesNoLoopIfAllQueriesFitInOneBlock) {
  const std::string all = emit_module(Attended(0).program, "a");
  EXPECT_EQ(emit_module(Attended(Q).program, "a"), all);
  EXPECT_EQ(emit_module(Attended(Q + 5).program, "a"), all);
  EXPECT_THAT(all, ::testing::Not(HasSubstr("stablehlo.while")));
  EXPECT_THAT(emit_module(Attended(Q - 1).program, "a"), HasSubstr("stablehlo.while"));
}

TEST(Attention, SupportsSeveralBiasesAndBiasesPerHead) {
  for (const Biases& biases : {kOfHeads, kOfHeadsAndKeys, kOfAll})
    for (const std::int64_t rows : {0, 2, 3})
      for (const bool stored_scores : {true, false})
        expect_same(Attended(rows, 0.3, biases, stored_scores), Attended(0, 0.3, biases));
}

// Computes the scores of all heads with plain loops.
TEST(Attention, AddsABiasToTheScoresOfItsHead) {
  const Attended got(2, 0, kOfHeadsAndKeys, false);
  const auto in = got.arguments();
  const Value context = got.values().back();
  const auto at = [](const Value& x, std::int64_t i, std::int64_t j, std::int64_t k,
                     std::int64_t l) {
    const Dims& d = x.shape.dims;
    return x.real[static_cast<std::size_t>(((i * d[1] + j) * d[2] + k) * d[3] + l)];
  };
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t q = 0; q < Q; ++q)
      for (std::int64_t n = 0; n < N; ++n) {
        double sum = 0, all = 0;
        for (std::int64_t s = 0; s < S; ++s) {
          double score = 0;
          for (std::int64_t d = 0; d < D; ++d)
            score += at(in[1], b, q, n, d) * at(in[2], b, s, n, d);
          const double weight =
              std::exp(score / std::sqrt(D) + at(in[4], b, 0, 0, s) + at(in[5], 0, n, q, s));
          all += weight;
          sum += weight * at(in[3], b, s, n, 0);
        }
        EXPECT_NEAR(at(context, b, q, n, 0), sum / all, 1e-12);
      }
}

TEST(Attention, AppliesDropout) {
  const auto all = Attended(2, 0).values().back().real, some = Attended(2).values().back().real;
  EXPECT_NE(all, some);
}

TEST(Attention, BlocksNeverHoldScoresOfAllQueries) {
  const std::string scores = "tensor<2x3x8x6xf32>", block = "tensor<2x3x2x6xf32>";
  const std::string whole = emit_module(Attended(0).program, "a"),
                    blocks = emit_module(Attended(2).program, "a");
  EXPECT_THAT(whole, HasSubstr(scores));
  EXPECT_THAT(blocks, ::testing::Not(HasSubstr(scores)));
  EXPECT_THAT(blocks, HasSubstr(block));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(Attention, RecomputedScoresMatchWithTwoMoreMatmuls) {
  for (const Biases& biases : {kOfKeys, kOfQueries})
    for (const std::int64_t rows : {0, 2})
      expect_same(Attended(rows, 0.3, biases, false), Attended(0, 0.3, biases));
  const std::string stored = emit_module(Attended(0).program, "a"),
                    again = emit_module(Attended(0, 0.3, kOfKeys, false).program, "a");
  EXPECT_EQ(count(again, "stablehlo.dot_general"), count(stored, "stablehlo.dot_general") + 2);
  EXPECT_EQ(count(again, "stablehlo.while"), 0u);
  EXPECT_EQ(count(stored, "stablehlo.optimization_barrier"), 0u);
  // No scores are passed from the forward to the backward pass or stored within one; only
  // exponentials are stored, in the type of matmul operands.
  const std::string barrier = "stablehlo.optimization_barrier";
  EXPECT_EQ(count(again, barrier), 5u);
  for (std::size_t at = again.find(barrier); at != std::string::npos;
       at = again.find(barrier, at + 1))
    EXPECT_THAT(again.substr(at, again.find('\n', at) - at),
                ::testing::Not(HasSubstr("2x3x8x6xf32")));
}

// ---- rounding ----

// A way to compute attention.
struct Form {
  bool by_context = true;
  DType dtype = DType::bf16;
  double dropout = 0;
  bool relative = false;
  std::int64_t rows = 0;
};

// The gradients of q and k for keys and values near a common mean. If a row of the score gradients
// does not sum to zero, the error is multiplied by that mean.
struct NearAMean {
  explicit NearAMean(const Form& form) {
    const Tensor step = program.graph.argument({DType::s32, {}});
    Parameters parameters;
    const Scope s(program.graph, parameters, RandomSource{.seed = 5, .step = step},
                  {.dtype = form.dtype,
                   .stored_scores = !form.by_context,
                   .softmax_by_context = form.by_context,
                   .attention_rows = form.rows});
    const auto argument = [&](Dims dims) {
      return program.graph.argument({form.dtype, std::move(dims)});
    };
    std::vector<Tensor> in;
    for (int i = 0; i < 3; ++i) in.push_back(argument({2, 64, 2, 16}));
    const Tensor weights = program.graph.argument(f32({2, 64, 2, 16}));
    AttentionInputs inputs{.q = in[0], .k = in[1], .v = in[2], .dropout = form.dropout};
    if (form.relative) {
      inputs.relative_k = argument({127, 2, 16});
      inputs.relative_v = argument({127, 2, 16});
    }
    const Tensor context = attention(s / "self", inputs);
    const Tensor loss = reduce_sum(convert(context, DType::f32) * weights, {0, 1, 2, 3});
    program.results = grad(loss, std::vector{in[0], in[1]});
  }

  std::vector<Value> arguments() const {
    std::vector<Value> out{integer_value({DType::s32, {}}, {3})};
    for (std::size_t i = 1; i < program.graph.arguments().size(); ++i) {
      const double mean = i == 2 || i == 3 ? 8 : 0;
      out.push_back(random_value(
          {.shape = program.graph.arguments()[i].shape(), .low = mean - 1, .high = mean + 1},
          100 + i));
    }
    return out;
  }

  // The result without rounding, which is the same in all forms with equal dropout and relative
  // positions.
  std::vector<Value> exact() const {
    return interpret(program.graph, program.results, arguments());
  }

  // Returns the deviations of the device's results from the exact ones, relative to their norm.
  std::vector<double> errors(const std::vector<Value>& exact) const {
    const auto got =
        run_on_cpu(program, arguments(), {.overrides = {{"xla_allow_excess_precision", "false"}}});
    std::vector<double> out;
    for (std::size_t i = 0; i < got.size(); ++i) {
      double apart = 0, all = 0;
      for (std::size_t j = 0; j < got[i].real.size(); ++j) {
        apart += std::pow(got[i].real[j] - exact[i].real[j], 2);
        all += std::pow(exact[i].real[j], 2);
      }
      out.push_back(std::sqrt(apart / all));
    }
    return out;
  }

  Program program;
};

TEST(Attention, SoftmaxByContextIsAsAccurateAsOverAllKeys) {
  REQUIRE_PLUGIN("cpu");
  for (const auto& over_keys : {Form{.by_context = false},
                                {.by_context = false, .dropout = 0.1},
                                {.by_context = false, .relative = true}}) {
    const NearAMean all_keys(over_keys);
    const auto exact = all_keys.exact();
    const auto want = all_keys.errors(exact);
    for (const std::int64_t rows : {0, 16}) {
      Form form = over_keys;
      form.by_context = true, form.rows = rows;
      const auto got = NearAMean(form).errors(exact);
      for (std::size_t i = 0; i < want.size(); ++i) {
        SCOPED_TRACE(str(i == 0 ? "q" : "k", ", dropout ", form.dropout, ", rows ", rows));
        EXPECT_LT(got[i], 1.1 * want[i]);
        EXPECT_LT(got[i], 0.05);
      }
    }
  }
  // In f32, operands are rounded like matmul operands, and nothing else is.
  const NearAMean in_f32({.dtype = DType::f32, .dropout = 0.1});
  for (const double error : in_f32.errors(in_f32.exact())) EXPECT_LT(error, 0.01);
}

// ---- positions ----

// The context, and all gradients, of attention with relative positions and no bias.
struct Relative {
  explicit Relative(std::int64_t rows, bool stored_scores = true) {
    const Tensor step = program.graph.argument({DType::s32, {}});
    Parameters parameters;
    const Scope s(program.graph, parameters, RandomSource{.seed = 5, .step = step},
                  {.stored_scores = stored_scores,
                   .softmax_by_context = !stored_scores,
                   .attention_rows = rows});
    std::vector<Tensor> in;
    for (const std::int64_t length : {Q, S, S})
      in.push_back(program.graph.argument(f32({B, length, N, D})));
    for (int i = 0; i < 3; ++i) in.push_back(program.graph.argument(f32({Q + S - 1, N, D})));
    const Tensor weights = program.graph.argument(f32({B, Q, N, D}));
    const Tensor context = attention(s / "self", {.q = in[0],
                                                  .k = in[1],
                                                  .v = in[2],
                                                  .dropout = 0,
                                                  .products = 4,
                                                  .relative_k = in[3],
                                                  .relative_v = in[4],
                                                  .relative_q = in[5]});
    program.results = grad(reduce_sum(context * weights, {0, 1, 2, 3}), in);
    program.results.push_back(context);
  }
  std::vector<Value> arguments() const {
    std::vector<Value> out{integer_value({DType::s32, {}}, {3})};
    for (std::size_t i = 1; i < program.graph.arguments().size(); ++i)
      out.push_back(random_value(
          {.shape = program.graph.arguments()[i].shape(), .low = -2, .high = 2}, 100 + i));
    return out;
  }
  std::vector<Value> values() const {
    return interpret(program.graph, program.results, arguments());
  }

  Program program;
};

double element(const Value& x, std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) {
  const Dims& dims = x.shape.dims;
  return x.real[static_cast<std::size_t>(((i * dims[1] + j) * dims[2] + k) * dims[3] + l)];
}

// Computes one element of the context, with relative positions looked up per query and key.
double context_at(const std::vector<Value>& in, std::int64_t b, std::int64_t q, std::int64_t n,
                  std::int64_t d) {
  const auto distance = [&](const Value& x, std::int64_t s, std::int64_t i) {
    return x.real[static_cast<std::size_t>(((s - q + Q - 1) * N + n) * D + i)];
  };
  double sum = 0, all = 0;
  for (std::int64_t s = 0; s < S; ++s) {
    double score = 0;
    for (std::int64_t i = 0; i < D; ++i)
      score += element(in[1], b, q, n, i) * (element(in[2], b, s, n, i) + distance(in[4], s, i)) +
               element(in[2], b, s, n, i) * distance(in[6], s, i);
    const double weight = std::exp(score / std::sqrt(4 * D));
    all += weight;
    sum += weight * (element(in[3], b, s, n, d) + distance(in[5], s, d));
  }
  return sum / all;
}

TEST(Attention, AddsRelativePositionsToQueriesKeysAndValues) {
  const Relative relative(0);
  const auto in = relative.arguments();
  const Value got = relative.values().back();
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t q = 0; q < Q; ++q)
      for (std::int64_t n = 0; n < N; ++n)
        for (std::int64_t d = 0; d < D; ++d)
          ASSERT_NEAR(element(got, b, q, n, d), context_at(in, b, q, n, d), 1e-12);
}

TEST(Attention, SupportsRelativePositionsInBlocks) {
  const auto want = Relative(0).values();
  for (const std::int64_t rows : {0, 1, 2, 3, 4, 5})
    for (const bool stored_scores : {true, false}) {
      const auto got = Relative(rows, stored_scores).values();
      for (std::size_t i = 0; i < want.size(); ++i)
        for (std::size_t j = 0; j < want[i].real.size(); ++j)
          ASSERT_NEAR(got[i].real[j], want[i].real[j], 1e-12) << "result " << i << " at " << j;
    }
}

TEST(Rotary, RotatesEachPairByPositionAndFrequency) {
  constexpr std::int64_t T = 40;
  Graph graph;
  const Tensor x = graph.argument(f32({1, T, 1, D}));
  const Value in = random_value({.shape = x.shape(), .low = -2, .high = 2}, 7);
  const auto got = evaluate(rotated(x, rotary(iota(graph, {DType::f32, {T}}, 0), D)), {in});
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t i = 0; i < D / 2; ++i) {
      const auto frequency =
          static_cast<float>(std::pow(10000.0, -2.0 * static_cast<double>(i) / D));
      const double angle = static_cast<double>(t) * frequency;
      const double a = element(in, 0, t, 0, i), b = element(in, 0, t, 0, i + D / 2);
      EXPECT_NEAR(got[static_cast<std::size_t>(t * D + i)],
                  a * std::cos(angle) - b * std::sin(angle), 1e-12);
      EXPECT_NEAR(got[static_cast<std::size_t>(t * D + i + D / 2)],
                  b * std::cos(angle) + a * std::sin(angle), 1e-12);
    }
}

TEST(Rotary, RejectsOddHeadSizes) {
  EXPECT_THAT(error_of([] {
                Graph graph;
                rotary(iota(graph, {DType::f32, {4}}, 0), 5);
              }),
              HasSubstr("rotary positions: head size is 5, must be even"));
}

TEST(Rotary, SupportsAnyPositionsAndBase) {
  Graph graph;
  const Tensor x = graph.argument(f32({2, 3, 1, 2})), positions = graph.argument(f32({2, 3}));
  const Value in = random_value({.shape = x.shape(), .low = -2, .high = 2}, 7);
  const std::vector<double> at{0, 1, 2, 5, 9, 5};
  // With head size 2 the only frequency is 1; with 4 the other is 1 / sqrt(base).
  const auto got =
      evaluate(rotated(x, rotary(positions, 2)), {in, real_value(positions.shape(), at)});
  for (std::size_t i = 0; i < at.size(); ++i)
    EXPECT_NEAR(got[2 * i], in.real[2 * i] * std::cos(at[i]) - in.real[2 * i + 1] * std::sin(at[i]),
                1e-12);
  Graph other;
  const Tensor one = constant(other, 4, DType::f32, {1});
  EXPECT_NEAR(evaluate(rotary(one, 4, 16).cos, {})[1], std::cos(4.0 / 4), 1e-7);
  EXPECT_NEAR(evaluate(rotary(one, 4, 64).cos, {})[1], std::cos(4.0 / 8), 1e-7);
}

}  // namespace
}  // namespace smelt::model
