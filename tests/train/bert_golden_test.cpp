// BERT, its gradients and its optimizers against an independent implementation
// (tools/golden_bert.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grad/grad.h"
#include "models/bert.h"
#include "ops/ops.h"
#include "support/plugins.h"
#include "train/compiled_step.h"
#include "train/golden_bert.h"

namespace smelt {
namespace {

constexpr double kGradientTolerance = 1e-4;  // relative, f32
constexpr double kLossTolerance = 1e-5;      // relative

// sqrt(sum (a-b)^2), sqrt(sum b^2)
std::pair<double, double> distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    size += b[i] * static_cast<double>(b[i]);
  }
  return {std::sqrt(difference), std::sqrt(size)};
}

double global_norm(const GoldenBert& golden, const StateLayout& layout) {
  double sum = 0;
  for (const StateTensor& p : layout.tensors) {
    const auto values = golden.values(str("grad/", p.name));
    for (const float value : values) sum += static_cast<double>(value) * value;
  }
  return std::sqrt(sum);
}

// What a prediction of the golden weights gives for the first golden batch.
struct Probe {
  StateLayout layout;
  std::vector<std::vector<float>> results;
};

using Outputs = std::function<std::vector<Tensor>(const Scope&, const Inputs&)>;

Probe probe(const std::shared_ptr<const Client>& client, const GoldenBert& golden,
            const Outputs& outputs) {
  const Batch batch = golden.batch(0);
  const StepProgram program = predict_program(
      {.features = bert_task(golden.task()).features, .outputs = outputs}, batch.rows);
  const CompiledStep step(client, program);
  const ModelState state =
      ModelState::restore(*client, program.placement, program.state, golden.state(), "golden");
  const Execution execution = step.run(batch, state);
  Probe out{.layout = program.state, .results = {}};
  for (const Buffer& buffer : execution.results[0]) out.results.push_back(buffer.to_host<float>());
  return out;
}

TEST(Bert, LogitsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const BertConfig model = golden.task().model;
  const Probe got = probe(client, golden, [&](const Scope& root, const Inputs& in) {
    const BertEncoded encoded =
        bert(root, model, {in["input_ids"], in["input_mask"], in["segment_ids"]});
    return std::vector<Tensor>{
        masked_lm_logits(root, model, encoded.sequence, in["masked_lm_positions"]),
        next_sentence_logits(root, model, encoded.pooled)};
  });
  for (const auto& [i, name] : {std::pair{0, "output/mlm_logits"}, {1, "output/nsp_logits"}}) {
    const auto [difference, size] = distance(got.results[i], golden.values(name));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
}

TEST(Bert, LossesAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const Task task = bert_task(golden.task());
  const Probe got = probe(client, golden, [&](const Scope& root, const Inputs& in) {
    const auto before = static_cast<std::ptrdiff_t>(root.graph().arguments().size());
    const Objective objective = task.objective(root, in);
    std::vector<Tensor> losses;
    for (const Measure& m : objective.losses)
      losses.push_back(m.sum * norm_factor(m.norm, m.weight));
    const auto& all = root.graph().arguments();
    const std::vector<Tensor> parameters(all.begin() + before, all.end());
    std::vector<Tensor> out{losses[0] + losses[1], losses[0], losses[1]};
    for (const Tensor& g : grad(out[0], parameters)) out.push_back(g);
    return out;
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
    // A key's bias shifts all scores of a query alike: its gradient is zero but for rounding.
    const bool zero = name.ends_with("key/bias");
    EXPECT_LE(difference, kGradientTolerance * (zero ? norm : size)) << name;
  }
}

// Losses of steps from the golden weights.
std::vector<float> train(const std::shared_ptr<const Client>& client, const GoldenBert& golden,
                         const TrainingConfig& config, int steps, double dropout = -1) {
  BertTask bert = golden.task();
  if (dropout >= 0)
    bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = dropout;
  const StepProgram program =
      train_program(bert_task(bert), config,
                    placement_for(client->platform_name(), config.devices, config.reduction));
  const CompiledStep compiled(client, program);
  ModelState state =
      ModelState::restore(*client, program.placement, program.state, golden.state(), "golden");
  const bool doubled = config.batch_size != golden.batch(0).rows;
  std::vector<float> losses;
  for (int step = 0; step < steps; ++step) {
    const Batch batch = doubled ? golden.double_batch(step % 5) : golden.batch(step);
    Execution execution = compiled.run(batch, state, step);
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
TEST(Bert, EightDevicesGiveTheLossesOfOneWithDropoutToo) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  TrainingConfig config = golden.config();
  config.batch_size *= 2;
  const auto one = train(client, golden, config, 10, 0.2);
  EXPECT_GT(std::fabs(one[0] - golden.facts()["train_bert"]["loss"][0].get<float>()), 1e-3);
  config.devices = 8;
  expect_losses(train(client, golden, config, 10, 0.2), one);
}

// With one replica the original's order of clip and sum is the default order.
TEST(Bert, TenStepsOfPerReplicaReductionOnOneDeviceMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  TrainingConfig config = golden.config();
  config.reduction = Reduction::per_replica;
  expect_losses(train(client, golden, config, 10),
                golden.facts()["train_bert"]["loss"].get<std::vector<float>>());
}

}  // namespace
}  // namespace smelt
