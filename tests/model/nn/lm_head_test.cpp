// Scores of labels compared with plain loops over all words; blocks of words compared with all at
// once.
#include "model/nn/lm_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"
#include "compiler/stablehlo/writer.h"
#include "reference/cpu_device.h"
#include "reference/evaluate.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::emit_module;
using compiler::grad;
using compiler::Graph;
using compiler::iota;
using compiler::Mesh;
using compiler::Program;
using compiler::reduce_sum;
using compiler::Shape;
using compiler::Tensor;
namespace {

using namespace smelt::testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t I = 6, E = 4, V = 10;
const std::vector<std::uint64_t> kLabels{3, 0, 9, 3, 7, 5};

Shape floats(Dims dims) { return {DType::f32, std::move(dims)}; }

Value labels_value() { return integer_value({DType::s32, {I}}, kLabels); }

// rows, words, bias. The last two words are equal, so that row 2, whose label is the last word, has
// a tie.
std::vector<Value> head_values() {
  std::vector<Value> out;
  for (const Dims& dims : {Dims{I, E}, Dims{V, E}, Dims{V}})
    out.push_back(random_value({.shape = floats(dims), .low = -2, .high = 2}, 40 + out.size()));
  for (std::size_t e = 0; e < E; ++e) out[1].real[8 * E + e] = out[1].real[9 * E + e];
  out[2].real[8] = out[2].real[9];
  return out;
}

// Gradients of rows, words and bias for a weighted sum of losses, then loss, rank, best word.
struct Scored {
  explicit Scored(const ComputePolicy& compute) {
    Graph& graph = program.graph;
    std::vector<Tensor> in;
    for (const Value& v : head_values()) in.push_back(graph.argument(v.shape));
    const Tensor labels = graph.argument(labels_value().shape);
    Parameters parameters;
    const LabelScores found =
        score_labels(Scope(graph, parameters, {}, compute), {in[0], in[1], in[2]}, labels);
    const Tensor weights = convert(iota(graph, {DType::s32, {I}}, 0), DType::f32) + 1.0;
    program.results = grad(reduce_sum(found.loss * weights, {0}), in);
    program.results.push_back(found.loss);
    program.results.push_back(found.rank);
    program.results.push_back(convert(found.best, DType::f32));
  }

  std::vector<Value> arguments() const {
    auto out = head_values();
    out.push_back(labels_value());
    return out;
  }
  std::vector<Value> values() const {
    return interpret(program.graph, program.results, arguments());
  }

  Program program;
};

// Returns a policy that scores `words` words at a time.
ComputePolicy at_a_time(std::int64_t words) { return {.logits_bytes = words * I * 4}; }

void expect_equal(const std::vector<Value>& got, const std::vector<Value>& want, double limit) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    for (std::size_t j = 0; j < want[i].real.size(); ++j)
      ASSERT_NEAR(got[i].real[j], want[i].real[j], limit) << "result " << i << " at " << j;
}

TEST(LmHead, LossRankAndBestMatchAPlainLoop) {
  const auto in = head_values();
  const auto score = [&](std::size_t i, std::size_t v) {
    double sum = in[2].real[v];
    for (std::size_t e = 0; e < E; ++e) sum += in[0].real[i * E + e] * in[1].real[v * E + e];
    return sum;
  };
  for (const std::int64_t words : {0, 4}) {
    const auto got = Scored(at_a_time(words)).values();
    for (std::size_t i = 0; i < I; ++i) {
      const std::size_t label = kLabels[i];
      double all = 0, rank = 0;
      std::size_t best = 0;
      for (std::size_t v = 0; v < V; ++v) {
        all += std::exp(score(i, v));
        if (score(i, v) > score(i, best)) best = v;
        rank += score(i, v) >= score(i, label) ? 1 : 0;
      }
      EXPECT_NEAR(got[3].real[i], std::log(all) - score(i, label), 1e-12) << "row " << i;
      EXPECT_EQ(got[4].real[i], rank) << "row " << i;
      EXPECT_EQ(got[5].real[i], best) << "row " << i;
    }
    EXPECT_GE(got[4].real[2], 2) << "its tie";
  }
}

TEST(LmHead, VocabularyBlocksMatchTheFullMatmulWithGradients) {
  const auto all = Scored({}).values();
  for (const std::int64_t words : {1, 2, 3, 4, 5, 7, 9}) {
    SCOPED_TRACE(words);
    expect_equal(Scored(at_a_time(words)).values(), all, 1e-12);
  }
}

TEST(LmHead, VocabularyBlocksMatchTheFullMatmulOnADeviceInF32) {
  REQUIRE_PLUGIN("cpu");
  const Scored all({}), blocks(at_a_time(3));
  expect_equal(run_on_cpu(blocks.program, blocks.arguments()),
               run_on_cpu(all.program, all.arguments()), 1e-6);
}

TEST(LmHead, VocabularyBlocksNeverStoreAllLogits) {
  const auto text = [](const ComputePolicy& compute) {
    return emit_module(Scored(compute).program, "a");
  };
  EXPECT_THAT(text({}), HasSubstr("tensor<6x10xf32>"));
  EXPECT_EQ(text(at_a_time(V)), text({}));
  EXPECT_THAT(text(at_a_time(5)), Not(HasSubstr("tensor<6x10xf32>")));
  EXPECT_THAT(text(at_a_time(5)), HasSubstr("tensor<6x5xf32>"));
}

TEST(LmHead, AppliesTheScaleInF32) {
  const auto in = head_values();
  for (const std::int64_t words : {0, 4}) {
    Program program;
    std::vector<Tensor> of;
    for (const Value& v : in) of.push_back(program.graph.argument(v.shape));
    const Tensor labels = program.graph.argument(labels_value().shape);
    Parameters parameters;
    const Scope scope(program.graph, parameters, {}, at_a_time(words));
    auto arguments = in;
    arguments.push_back(labels_value());
    const auto loss = [&](const LmHead& head) {
      return interpret(program.graph, {score_labels(scope, head, labels).loss}, arguments)[0].real;
    };
    const auto scaled = loss({of[0], of[1], of[2], 0.3}), rows = loss({of[0] * 0.3, of[1], of[2]});
    EXPECT_THAT(scaled, ::testing::Pointwise(::testing::DoubleNear(1e-6), rows)) << words;
  }
}

// Gradients of the student's rows, words and bias for a weighted sum of divergences, the
// divergences, and the gradient of the teacher's rows.
struct Diverged {
  explicit Diverged(const ComputePolicy& compute) {
    Graph& graph = program.graph;
    std::vector<Tensor> in;
    for (const Value& v : arguments()) in.push_back(graph.argument(v.shape));
    Parameters parameters;
    const Tensor kl = word_divergence(Scope(graph, parameters, {}, compute), {in[0], in[1], in[2]},
                                      {in[3], in[4], in[5], 0.5}, 2);
    const Tensor weights = convert(iota(graph, {DType::s32, {I}}, 0), DType::f32) + 1.0;
    program.results = grad(reduce_sum(kl * weights, {0}), std::array{in[0], in[1], in[2]});
    program.results.push_back(kl);
  }
  // The teacher has wider rows.
  static std::vector<Value> arguments() {
    auto out = head_values();
    for (const Dims& dims : {Dims{I, E + 2}, Dims{V, E + 2}, Dims{V}})
      out.push_back(random_value({.shape = floats(dims), .low = -2, .high = 2}, 40 + out.size()));
    return out;
  }
  std::vector<Value> values() const {
    return interpret(program.graph, program.results, arguments());
  }

  Program program;
};

TEST(WordDivergence, MatchesAPlainSumWithGradientsAlsoInBlocks) {
  const auto in = Diverged::arguments();
  const auto probabilities = [&](std::size_t first, std::size_t width, double scale,
                                 std::size_t i) {
    std::vector<double> out;
    double all = 0;
    for (std::size_t v = 0; v < V; ++v) {
      double sum = 0;
      for (std::size_t e = 0; e < width; ++e)
        sum += in[first].real[i * width + e] * in[first + 1].real[v * width + e];
      out.push_back(std::exp((scale * sum + in[first + 2].real[v]) / 2));
      all += out.back();
    }
    for (double& p : out) p /= all;
    return out;
  };
  const auto whole = Diverged({}).values();
  for (std::size_t i = 0; i < I; ++i) {
    const auto s = probabilities(0, E, 1, i), t = probabilities(3, E + 2, 0.5, i);
    double kl = 0;
    for (std::size_t v = 0; v < V; ++v) kl += t[v] * std::log(t[v] / s[v]);
    EXPECT_NEAR(whole[3].real[i], kl, 1e-6) << i;
  }
  for (const std::int64_t words : {2, 4, 6, 14}) {
    SCOPED_TRACE(words);
    expect_equal(Diverged(at_a_time(words)).values(), whole, 1e-6);
  }
}

TEST(WordDivergence, VocabularyBlocksNeverStoreAllLogits) {
  const auto text = [](std::int64_t words) {
    return emit_module(Diverged(at_a_time(words)).program, "a");
  };
  EXPECT_THAT(text(0), HasSubstr("tensor<6x10xf32>"));
  EXPECT_EQ(text(2 * V), text(0));
  EXPECT_THAT(text(10), Not(HasSubstr("tensor<6x10xf32>")));
  EXPECT_THAT(text(10), HasSubstr("tensor<6x5xf32>"));
}

TEST(LmHead, VocabularyBlockSizeAccountsForTheMesh) {
  ComputePolicy compute = at_a_time(5);
  const auto over = [&](const Mesh& mesh, const std::string& vocab = "tensor") {
    PartitionRules partition;
    partition.mesh = mesh;
    partition.rules["vocab"] = vocab;
    compute.partition = std::make_shared<const PartitionRules>(partition);
    return emit_module(Scored(compute).program, "a");
  };
  EXPECT_THAT(over({}), Not(HasSubstr("tensor<6x10xf32>")));
  EXPECT_THAT(over({{"data", 2}}), HasSubstr("tensor<6x10xf32>"));
  EXPECT_THAT(over({{"tensor", 2}}), HasSubstr("tensor<6x10xf32>"));
  // Over fsdp, words are gathered for use: each half of the rows scores all words.
  compute = at_a_time(2);
  EXPECT_THAT(over({{"fsdp", 2}}, "fsdp"), Not(HasSubstr("tensor<6x10xf32>")));
}

}  // namespace
}  // namespace smelt::model
