// JEstimator's BERT variants, their gradients and metrics compared with the original modules
// (tools/golden_jestimator.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "runs/golden_jestimator.h"
#include "runs/probe.h"
#include "runs/state_values.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::DType;
using compiler::full_like;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::select;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

class Jestimator : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Variants, Jestimator, testing::ValuesIn(GoldenJestimator::variants()),
                         [](const auto& info) { return info.param; });

double golden_norm(const GoldenJestimator& golden) {
  double sum = 0;
  for (const auto& [name, view] : golden.tensors("grad/"))
    for (const float g : io::tensor_values<float>(view)) sum += static_cast<double>(g) * g;
  return std::sqrt(sum);
}

void expect_golden_gradients(const std::string& variant, const ComputePolicy& compute,
                             double loss_tolerance = kLossTolerance,
                             double gradient_tolerance = kLossTolerance) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenJestimator golden(variant);
  TrainingConfig config = golden.config();
  config.compute = compute;
  const auto [loss, gradients] = step_gradients(client, golden.task(), config,
                                                golden.batch("input"), golden.tensors("param/"));
  const double want = golden.facts()["loss"], norm = golden_norm(golden);
  EXPECT_NEAR(loss, want, loss_tolerance * want);
  ASSERT_EQ(gradients.size(), golden.tensors("param/").size());
  for (const auto& [name, gradient] : gradients) {
    const auto [difference, size] = distance(gradient, golden.values("grad/" + name));
    // A key bias shifts all scores of a query equally, so its gradient is zero up to rounding.
    const bool zero = name.ends_with("key/bias");
    EXPECT_LE(difference, gradient_tolerance * (zero ? norm : size)) << name;
  }
}

TEST_P(Jestimator, LossAndGradientsMatchTheOriginal) { expect_golden_gradients(GetParam(), {}); }

// Blocks of 7 of the 41 words, and of 5 of the 20 queries.
TEST_P(Jestimator, LossAndGradientsWithScanAndBlocksMatchTheOriginal) {
  expect_golden_gradients(GetParam(), {.layers = Layers::scan,
                                       .save = RematPolicy::layer,
                                       .attention_rows = 5,
                                       .logits_bytes = 80 * 7 * 4});
}

TEST_P(Jestimator, LossAndGradientsInBf16AreNearTheOriginal) {
  expect_golden_gradients(GetParam(), {.dtype = DType::bf16}, 0x1p-8, kNarrowGradientTolerance);
  SCOPED_TRACE("as on a TPU");
  expect_golden_gradients(GetParam(), compute_for("tpu", {.precision = Precision::bf16}), 0x1p-8,
                          kNarrowGradientTolerance);
}

TEST_P(Jestimator, LogitsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenJestimator golden(GetParam());
  const JestimatorBertConfig model = golden.settings().model;
  const auto logits = [&](const Scope& root, const Inputs& in) {
    const Tensor masked = in["masked"], targets = in["targets"];
    const Tensor seen =
        select(compare(masked, zeros_like(masked), Compare::gt), full_like(targets, 4), targets);
    const Tensor sequence = jestimator_bert(root, model, seen);
    const std::int64_t rows = seen.shape().elements();
    return std::vector<Tensor>{
        lm_logits(jestimator_word_head(root, model, reshape(sequence, {rows, model.hidden_size})))};
  };
  const Probe got = probe(client, {.features = golden.task().features, .outputs = logits},
                          golden.batch("input"), golden.state());
  const auto [difference, size] = distance(got.results[0], golden.values("output/logits"));
  EXPECT_LE(difference, kLossTolerance * size);
}

TEST_P(Jestimator, MetricsMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenJestimator golden(GetParam());
  for (const std::int64_t logits_bytes : {0, 80 * 7 * 4}) {
    ComputePolicy compute;
    compute.logits_bytes = logits_bytes;
    const data::Batch batch = golden.batch("input");
    const StepProgram program =
        eval_program(golden.task(), batch.rows, placement_for("cpu", 1, {}), compute);
    const execution::CompiledStep step(client, program);
    const execution::ModelState state = execution::ModelState::restore(
        *client, program.placement, program.state, golden.state(), "golden");
    ReportSums sums(program.report);
    sums.add(step.run(batch, state).results[0][0].to_host<float>());
    const double loss = golden.facts()["loss"];
    EXPECT_NEAR(sums.figure("loss"), loss, kLossTolerance * loss);
    for (const MeasuredValue& m : sums.measures()) {
      EXPECT_EQ(m.weight, golden.facts()["masked"].get<double>()) << m.name;
      if (m.name == "masked_lm_accuracy") continue;
      const double want = golden.facts()[m.name];
      EXPECT_NEAR(m.value, want, (m.name == "mrr" ? 1e-6 : kLossTolerance * want)) << m.name;
    }
  }
}

// Starts from the original's initial values, with zeros for queries, values, second feed-forward
// layers and the head. Each parameter gets its first gradient in the same step.
TEST_P(Jestimator, TenStepsFromInitialZerosMatchTheOriginal) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenJestimator golden(GetParam());
  TrainingConfig config = golden.config();
  const StepProgram program =
      train_program(golden.task(), config, placement_for("cpu", 1, Reduction::global));
  const execution::CompiledStep compiled(client, program);
  execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state("first/"), "golden");
  std::map<std::string, std::int64_t> alive;
  const auto& facts = golden.facts()["train"];
  const auto losses = facts["losses"].get<std::vector<float>>();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i);
    pjrt::Execution execution = compiled.run(golden.batch(str("train/", i)), state, step);
    EXPECT_NEAR(execution.results[0].back().to_host<float>()[0], losses[i], 1e-4 * losses[i])
        << "step " << i;
    state.replace(execution.results);
    for (const auto& [name, values] : values_of(state))
      if (name.ends_with("/adam_m"))               // starts at zero
        if (!name.ends_with("key/bias/adam_m") &&  // its gradient is only rounding
            std::ranges::any_of(values, [](float v) { return v != 0; }))
          alive.emplace(name.substr(0, name.size() - 7), step);
  }
  EXPECT_EQ(alive, (facts["first_gradient"].get<std::map<std::string, std::int64_t>>()));
  EXPECT_EQ(alive.size() + 2, golden.tensors("first/").size());  // all but the two key biases
}

// The initialization of new parameters.
TEST_P(Jestimator, InitialWeightsMatchTheOriginal) {
  const GoldenJestimator golden(GetParam());
  const StepProgram program =
      train_program(golden.task(), golden.config(), placement_for("cpu", 1, {}));
  const auto first = golden.tensors("first/");
  for (std::size_t i = 0; i < program.state.values; ++i) {
    const StateTensor& tensor = program.state.tensors[i];
    const auto want = io::tensor_values<float>(first.at(tensor.name));
    const bool constant = std::ranges::all_of(want, [&](float v) { return v == want[0]; });
    EXPECT_EQ(tensor.init.kind, constant ? Init::constant : Init::truncated_normal) << tensor.name;
    if (constant) {
      EXPECT_EQ(tensor.init.value, want[0]) << tensor.name;
    } else {
      EXPECT_EQ(tensor.init.stddev, 0.02) << tensor.name;
      EXPECT_LE(std::ranges::max(want), 0.04f) << tensor.name;
    }
  }
}

}  // namespace
}  // namespace smelt::model
