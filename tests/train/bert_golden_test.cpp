// BERT, its gradients and its optimizers against an independent implementation
// (tools/golden_bert.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "grad/grad.h"
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

double global_norm(const GoldenBert& golden, const Parameters& parameters) {
  double sum = 0;
  for (const Parameter& p : parameters.all()) {
    const auto values = golden.values(str("grad/", p.name));
    for (const float value : values) sum += static_cast<double>(value) * value;
  }
  return std::sqrt(sum);
}

// Logits, losses and every gradient for the first golden batch.
struct Probe {
  Parameters parameters;
  std::vector<std::vector<float>> results;  // mlm logits, nsp logits, losses[3], gradients…
};

Probe probe(const std::shared_ptr<const Client>& client, const GoldenBert& golden) {
  const PretrainingConfig config = golden.config();
  const BertBatch b = golden.batch(0);
  const Shape sequence{DType::s32, {b.batch, b.seq_length}};
  const Shape answers{DType::s32, {b.batch, b.max_predictions}};
  Program program;
  std::vector<Tensor> in;
  for (const Shape& shape : {sequence, sequence, sequence, answers, answers,
                             Shape{DType::f32, answers.dims}, Shape{DType::s32, {b.batch}}})
    in.push_back(program.graph.argument(shape));
  Parameters parameters;
  const Scope root(program.graph, parameters);
  const BertPretraining model =
      bert_pretraining(root, config.model, {in[0], in[1], in[2]}, {in[3], in[4], in[5], in[6]});
  std::vector<Tensor> wrt;
  for (const Parameter& parameter : parameters.all()) wrt.push_back(parameter.tensor);
  program.results = {model.masked_lm_logits, model.next_sentence_logits, model.loss,
                     model.masked_lm_loss, model.next_sentence_loss};
  for (const Tensor& g : grad(model.loss, wrt)) program.results.push_back(g);
  const Executable executable = client->compile(emit_module(program, "probe"));
  const ModelState state =
      ModelState::restore(*client, 1, parameters, StateParts::values, golden.state(), "golden");
  std::vector<Buffer> buffers;
  const auto put = [&](const auto& values, int i) {
    buffers.push_back(to_device(*client, values, in[i].shape()));
  };
  put(b.input_ids, 0), put(b.input_mask, 1), put(b.segment_ids, 2), put(b.masked_lm_positions, 3);
  put(b.masked_lm_ids, 4), put(b.masked_lm_weights, 5), put(b.next_sentence_labels, 6);
  std::vector<const Buffer*> arguments;
  for (const Buffer& buffer : buffers) arguments.push_back(&buffer);
  for (const Buffer* buffer : state.on_device(0)) arguments.push_back(buffer);
  const Execution execution = executable.execute({arguments});
  Probe out{.parameters = parameters, .results = {}};
  for (const Buffer& buffer : execution.results[0]) out.results.push_back(buffer.to_host<float>());
  return out;
}

TEST(Bert, LogitsLossesAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  const Probe got = probe(client, golden);
  for (const auto& [i, name] : {std::pair{0, "output/mlm_logits"}, {1, "output/nsp_logits"}}) {
    const auto [difference, size] = distance(got.results[i], golden.values(name));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
  for (const auto& [i, name] : {std::pair{2, "loss"}, {3, "mlm_loss"}, {4, "nsp_loss"}}) {
    const double want = golden.facts()["loss"][name];
    EXPECT_NEAR(got.results[i][0], want, kLossTolerance * want) << name;
  }
  const double norm = global_norm(golden, got.parameters);
  for (std::size_t i = 0; i < got.parameters.all().size(); ++i) {
    const std::string& name = got.parameters.all()[i].name;
    const auto [difference, size] = distance(got.results[5 + i], golden.values(str("grad/", name)));
    // A key's bias shifts all scores of a query alike: its gradient is zero but for rounding.
    const bool zero = name.ends_with("key/bias");
    EXPECT_LE(difference, kGradientTolerance * (zero ? norm : size)) << name;
  }
}

// Losses of ten steps from the golden weights.
std::vector<float> train(const std::shared_ptr<const Client>& client, const GoldenBert& golden,
                         const PretrainingConfig& config, int steps) {
  PretrainingProgram program;
  build_train_step(config, program);
  const CompiledStep compiled(client, config, program);
  ModelState state =
      ModelState::restore(*client, static_cast<int>(config.devices), program.parameters,
                          StateParts::values_and_moments, golden.state(), "golden");
  const bool doubled = config.batch.batch_size != golden.batch(0).batch;
  std::vector<float> losses;
  for (std::int32_t step = 0; step < steps; ++step) {
    const BertBatch batch = doubled ? golden.double_batch(step % 5) : golden.batch(step);
    Execution execution = compiled.run(batch, std::span(&step, 1), state);
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
  PretrainingConfig config = golden.config();
  config.optimizer.bias_correction = BiasCorrection::on;
  expect_losses(train(client, golden, config, 10),
                golden.facts()["train_adamw"]["loss"].get<std::vector<float>>());
}

TEST(Bert, EightDevicesGiveTheLossesOfOne) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  PretrainingConfig config = golden.config();
  config.batch.batch_size *= 2;
  const auto one = train(client, golden, config, 10);
  config.devices = 8;
  expect_losses(train(client, golden, config, 10), one);
}

TEST(Bert, DropoutDrawsTheSameBitsOnOneDeviceAndOnEight) {
  SMELT_OPEN_CPU(client, 8);
  const GoldenBert golden;
  PretrainingConfig config = golden.config();
  config.model.hidden_dropout_prob = config.model.attention_probs_dropout_prob = 0.2;
  config.batch.batch_size *= 2;
  const auto one = train(client, golden, config, 3);
  EXPECT_GT(std::fabs(one[0] - golden.facts()["train_bert"]["loss"][0].get<float>()), 1e-3);
  config.devices = 8;
  expect_losses(train(client, golden, config, 3), one);
}

// With one replica the original's order of clip and sum is the default order.
TEST(Bert, PerReplicaReductionOnOneDeviceIsTheGlobalOne) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenBert golden;
  PretrainingConfig config = golden.config();
  const auto global = train(client, golden, config, 3);
  config.reduction = Reduction::per_replica;
  expect_losses(train(client, golden, config, 3), global);
}

}  // namespace
}  // namespace smelt
