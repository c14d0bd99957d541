// Attention within a window, in blocks and over all keys.
#include "model/nn/local_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "reference/evaluate.h"

namespace smelt::model {
namespace {

using compiler::DType;
using compiler::Tensor;
using smelt::testing::Value;

constexpr std::int64_t kB = 2, kS = 19, kN = 2, kD = 3, kWindow = 2;

// What restricts the keys besides the window.
enum class Keys { all, masked, packed };

// The context and its gradients.
compiler::Program attended(Keys keys, bool in_blocks) {
  compiler::Program program;
  compiler::Graph& graph = program.graph;
  Parameters parameters;
  const Scope s(graph, parameters);
  std::vector<Tensor> in;
  for (int i = 0; i < 4; ++i) in.push_back(graph.argument({DType::f32, {kB, kS, kN, kD}}));
  AttentionInputs inputs{.q = in[0], .k = in[1], .v = in[2]};
  if (keys == Keys::masked) {
    // Every third key, other ones in each row.
    const Tensor at =
        iota(graph, {DType::s32, {kB, 1, 1, kS}}, 3) + iota(graph, {DType::s32, {kB, 1, 1, kS}}, 0);
    const Tensor third =
        compare(at, at / full_like(at, 3) * full_like(at, 3), compiler::Compare::eq);
    inputs.biases = {convert(third, DType::f32) * kMaskedScore};
  }
  if (keys == Keys::packed) {
    const Tensor at = iota(graph, {DType::s32, {kB, kS}}, 1);
    inputs.query_sequences = inputs.key_sequences = at / full_like(at, 5);
  }
  Tensor context;
  if (in_blocks) {
    context = local_attention(s / "self", inputs, kWindow);
  } else {
    inputs.biases.push_back(window_bias(graph, kS, kS, 0, kWindow));
    context = attention(s / "self", inputs);
  }
  program.results =
      grad(reduce_sum(context * in[3], {0, 1, 2, 3}), std::vector{in[0], in[1], in[2]});
  program.results.push_back(context);
  return program;
}

std::vector<Value> values_of(const compiler::Program& program) {
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < program.graph.arguments().size(); ++i)
    arguments.push_back(
        smelt::testing::random_value({program.graph.arguments()[i].shape(), -1, 1}, i + 1));
  return smelt::testing::interpret(program.graph, program.results, arguments);
}

TEST(LocalAttention, BlocksMatchAllKeysUnderAWindow) {
  for (const Keys keys : {Keys::all, Keys::masked, Keys::packed}) {
    const auto got = values_of(attended(keys, true)), want = values_of(attended(keys, false));
    for (std::size_t i = 0; i < want.size(); ++i)
      for (std::size_t j = 0; j < want[i].real.size(); ++j)
        ASSERT_NEAR(got[i].real[j], want[i].real[j], 1e-12) << "result " << i << ", element " << j;
  }
}

// 5 blocks of 4 queries and 8 keys each.
TEST(LocalAttention, ComputesOnlyTheScoresWithinReach) {
  const std::string text = emit_module(attended(Keys::masked, true), "a");
  EXPECT_THAT(text, ::testing::HasSubstr("tensor<10x2x4x8xf32>"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("x19x19x")));
}

TEST(LocalAttention, UsesAllKeysOfShortSequences) {
  compiler::Program program;
  Parameters parameters;
  const Tensor x = program.graph.argument({DType::f32, {1, 15, 1, 4}});
  program.results = {
      local_attention(Scope(program.graph, parameters), {.q = x, .k = x, .v = x}, kWindow)};
  EXPECT_THAT(emit_module(program, "a"), ::testing::HasSubstr("tensor<1x1x15x15xf32>"));
}

}  // namespace
}  // namespace smelt::model
