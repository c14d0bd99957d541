// Attention over blocks of its queries is attention over all of them.
#include "nn/attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "grad/grad.h"
#include "hlo/writer.h"
#include "ops/ops.h"
#include "reference/evaluate.h"
#include "support/error_of.h"

namespace smelt {
namespace {

using namespace smelt::testing;
using ::testing::HasSubstr;

constexpr std::int64_t B = 2, Q = 8, S = 6, N = 3, D = 4;

Shape f32(Dims dims) { return {DType::f32, std::move(dims)}; }

// The context, and the gradients of q, k, v of a sum of it with unequal weights.
struct Attended {
  explicit Attended(std::int64_t rows, double dropout = 0.3, std::int64_t bias_rows = 1) {
    const Tensor step = program.graph.argument({DType::s32, {}});
    Parameters parameters;
    const Scope s(program.graph, parameters, RandomSource{.seed = 5, .step = step},
                  {.attention_rows = rows});
    const Tensor q = program.graph.argument(f32({B, Q, N, D}));
    const Tensor k = program.graph.argument(f32({B, S, N, D}));
    const Tensor v = program.graph.argument(f32({B, S, N, D}));
    const Tensor bias = program.graph.argument(f32({B, 1, bias_rows, S}));
    const Tensor weights = program.graph.argument(f32({B, Q, N, D}));
    const Tensor context =
        attention(s / "self", {.q = q, .k = k, .v = v, .bias = bias, .dropout = dropout});
    program.results = grad(reduce_sum(context * weights, {0, 1, 2, 3}), std::vector{q, k, v});
    program.results.push_back(context);
  }

  std::vector<Value> values() const {
    std::vector<Value> arguments{integer_value({DType::s32, {}}, {3})};
    for (std::size_t i = 1; i < program.graph.arguments().size(); ++i)
      arguments.push_back(random_value(
          {.shape = program.graph.arguments()[i].shape(), .low = -2, .high = 2}, 100 + i));
    return interpret(program.graph, program.results, arguments);
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

TEST(Attention, InBlocksOfQueriesIsThatOfAllWithTheirDropoutAndGradients) {
  for (const std::int64_t rows : {1, 2, 4}) expect_same(Attended(rows), Attended(0));
  expect_same(Attended(Q), Attended(0));
  expect_same(Attended(2, 0.3, Q), Attended(0, 0.3, Q));
}

TEST(Attention, DropsSome) {
  const auto all = Attended(2, 0).values().back().real, some = Attended(2).values().back().real;
  EXPECT_NE(all, some);
}

TEST(Attention, InBlocksHoldsNoScoresOfAllQueriesAtOnce) {
  const std::string scores = "tensor<2x3x8x6xf32>", block = "tensor<2x3x2x6xf32>";
  const std::string whole = emit_module(Attended(0).program, "a"),
                    blocks = emit_module(Attended(2).program, "a");
  EXPECT_THAT(whole, HasSubstr(scores));
  EXPECT_THAT(blocks, ::testing::Not(HasSubstr(scores)));
  EXPECT_THAT(blocks, HasSubstr(block));
}

TEST(Attention, RefusesBlocksThatDoNotDivide) {
  EXPECT_THAT(error_of([] { Attended(3); }), HasSubstr("attention: 8 tokens in blocks of 3"));
}

}  // namespace
}  // namespace smelt
