// BERT, its gradients and its optimizers compared with an independent implementation
// (tools/golden_bert.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/ops.h"
#include "model/models/bert.h"
#include "runs/golden_bert.h"
#include "runs/probe.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::emit_module;
using compiler::Tensor;
namespace {

double global_norm(const GoldenBert& golden, const StateLayout& layout) {
  double sum = 0;
  for (const StateTensor& p : layout.tensors) {
    const auto values = golden.values(str("grad/", p.name));
    for (const float value : values) sum += static_cast<double>(value) * value;
  }
  return std::sqrt(sum);
}

Probe probe_golden(const std::shared_ptr<const pjrt::Client>& client, const GoldenBert& golden,
                   const std::function<std::vector<Tensor>(const Scope&, const Inputs&)>& outputs) {
  return probe(client, {.features = bert_task(golden.task()).features, .outputs = outputs},
               golden.batch(0), golden.state());
}

TEST(Bert, LogitsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const BertConfig model = golden.task().model;
  const Probe got = probe_golden(client, golden, [&](const Scope& root, const Inputs& in) {
    const BertEncoded encoded =
        bert(root, model, {in["input_ids"], in["input_mask"], in["segment_ids"]});
    return std::vector<Tensor>{
        lm_logits(masked_lm_head(root, model, encoded.sequence, in["masked_lm_positions"])),
        next_sentence_logits(root, model, encoded.pooled)};
  });
  for (const auto& [i, name] : {std::pair{0, "output/mlm_logits"}, {1, "output/nsp_logits"}}) {
    const auto [difference, size] = distance(got.results[i], golden.values(name));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
}

TEST(Bert, LossesAndGradientsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const Task task = bert_task(golden.task());
  const Probe got = probe_golden(client, golden, [&](const Scope& root, const Inputs& in) {
    return losses_and_gradients(task, root, in);
  });
  for (const auto& [i, name] : {std::pair{0, "loss"}, {1, "mlm_loss"}, {2, "nsp_loss"}}) {
    const double want = golden.facts()["loss"][name];
    EXPECT_NEAR(got.results[i][0], want, kLossTolerance * want) << name;
  }
  const double norm = global_norm(golden, got.layout);
  ASSERT_EQ(got.results.size(), 3 + got.layout.tensors.size());
  for (std::size_t i = 0; i < got.layout.tensors.size(); ++i) {
    const std::string& name = got.layout.tensors[i].name;
    const auto [difference, size] = distance(got.results[3 + i], golden.values(str("grad/", name)));
    // A key bias shifts all scores of a query equally, so its gradient is zero up to rounding.
    const bool zero = name.ends_with("key/bias");
    EXPECT_LE(difference, kGradientTolerance * (zero ? norm : size)) << name;
  }
}

// Blocks of 5 words.
TEST(Bert, VocabularyBlocksMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const BertTask settings = golden.task();
  const std::int64_t rows = golden.batch(0).rows * settings.max_predictions;
  TrainingConfig config = golden.config();
  config.compute.logits_bytes = rows * 5 * static_cast<std::int64_t>(sizeof(float));
  const StepProgram step = train_program(bert_task(settings), config, placement_for("cpu", 1, {}));
  EXPECT_EQ(emit_module(step.program, "step")
                .find(str("tensor<", rows, "x", settings.model.vocab_size, "xf32>")),
            std::string::npos);
  const auto [loss, gradients] =
      step_gradients(client, bert_task(settings), config, golden.batch(0), golden.state());
  const double want = golden.facts()["loss"]["loss"];
  EXPECT_NEAR(loss, want, kLossTolerance * want);
  for (const auto& [name, gradient] : gradients) {
    if (name.ends_with("key/bias")) continue;  // zero up to rounding
    const auto [difference, size] = distance(gradient, golden.values(str("grad/", name)));
    EXPECT_LE(difference, kGradientTolerance * size) << name;
  }
}

// Returns the losses of training steps that start from the golden weights.
std::vector<float> train(const std::shared_ptr<const pjrt::Client>& client,
                         const GoldenBert& golden, const TrainingConfig& config, int steps,
                         double dropout = -1) {
  BertTask bert = golden.task();
  if (dropout >= 0)
    bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = dropout;
  const StepProgram program =
      train_program(bert_task(bert), config,
                    placement_for(client->platform_name(), config.devices, config.reduction));
  const execution::CompiledStep compiled(client, program);
  execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.state(), "golden");
  const bool doubled = config.batch_size != golden.batch(0).rows;
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const data::Batch batch = doubled ? golden.double_batch(step % 5) : golden.batch(step);
    pjrt::Execution execution = compiled.run(batch, state, step);
    losses.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  return losses;
}

void expect_losses(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], kLossTolerance * want[i]) << "step " << i;
}

TEST(Bert, TenStepsOfTheOriginalOptimizerMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  expect_losses(train(client, golden, golden.config(), 10),
                golden.facts()["train_bert"]["loss"].get<std::vector<float>>());
}

TEST(Bert, TenStepsOfAdamWMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  TrainingConfig config = golden.config();
  AdamW corrected = golden.optimizer();
  corrected.bias_correction = BiasCorrection::on;
  config.optimizer = adamw(corrected);
  expect_losses(train(client, golden, config, 10),
                golden.facts()["train_adamw"]["loss"].get<std::vector<float>>());
}

// Dropout draws the same bits.
TEST(Bert, EightDevicesMatchOneAlsoWithDropout) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  TrainingConfig config = golden.config();
  config.batch_size *= 2;
  const auto one = train(client, golden, config, 10, 0.2);
  EXPECT_GT(std::fabs(one[0] - golden.facts()["train_bert"]["loss"][0].get<float>()), 1e-3);
  config.devices = 8;
  expect_losses(train(client, golden, config, 10, 0.2), one);
}

// With one replica the original's order of clipping and summing equals the default.
TEST(Bert, TenStepsOfPerReplicaReductionOnOneDeviceMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  TrainingConfig config = golden.config();
  config.reduction = Reduction::per_replica;
  expect_losses(train(client, golden, config, 10),
                golden.facts()["train_bert"]["loss"].get<std::vector<float>>());
}

}  // namespace
}  // namespace smelt::model
