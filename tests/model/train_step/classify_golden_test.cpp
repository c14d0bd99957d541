// Classifiers and their gradients compared with transformers (tools/golden_classify.py), also in
// the TPU form, over meshes and with padding examples.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/ops.h"
#include "model/tasks/token_features.h"
#include "runs/golden_classify.h"
#include "runs/mesh_bert.h"
#include "runs/probe.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::RematPolicy;
using compiler::Tensor;
namespace {

class ClassifyGolden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Encoders, ClassifyGolden, testing::Values("bert", "electra"),
                         [](const auto& info) { return info.param; });
class TokensGolden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Encoders, TokensGolden,
                         testing::Values("bert-tokens", "electra-tokens", "bert-spans",
                                         "electra-spans"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

Probe losses(const std::shared_ptr<const pjrt::Client>& client, const GoldenClassify& golden,
             io::Problem problem, const data::Batch& batch) {
  const Task task = classify_task(golden.settings(problem));
  return probe(client,
               {.features = task.features,
                .outputs = [&](const Scope& root,
                               const Inputs& in) { return losses_and_gradients(task, root, in); }},
               batch, golden.state(problem));
}

TEST_P(ClassifyGolden, ScoresMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  ClassifyTask c = golden.settings();
  data::Batch batch = golden.batch();
  batch.arrays.resize(3);
  // Raw scores: a regression returns them unchanged.
  Prediction scores = class_probabilities(c, 12);
  scores.outputs = [c](const Scope& root, const Inputs& in) -> std::vector<Tensor> {
    return {class_logits(root, c.encoder, encoder_inputs(in), 3, 0)};
  };
  const Probe got = probe(client, scores, batch, golden.state());
  const auto [difference, size] = distance(got.results[0], golden.values("scores"));
  EXPECT_LE(difference, kLossTolerance * size);
}

TEST_P(ClassifyGolden, LossesOfAllProblemsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  for (const auto& [problem, name] : {std::pair{io::Problem::single_label, "single_label"},
                                      {io::Problem::multi_label, "multi_label"},
                                      {io::Problem::regression, "regression_of_first"}}) {
    const double want = golden.facts()["losses"][name];
    const Probe got = losses(client, golden, problem, golden.batch(problem));
    EXPECT_NEAR(got.results[0][0], want, kLossTolerance * want) << name;
  }
}

void expect_golden_gradients(const std::shared_ptr<const pjrt::Client>& client,
                             const GoldenClassify& golden, const TrainingConfig& config) {
  const auto [loss, gradients] = step_gradients(client, classify_task(golden.settings()), config,
                                                golden.batch(), golden.state());
  const double want = golden.facts()["losses"][golden.of_tokens()    ? "token_labels"
                                               : golden.of_answers() ? "answer_spans"
                                                                     : "single_label"];
  EXPECT_NEAR(loss, want, kLossTolerance * want);
  EXPECT_EQ(gradients.size(), golden.state().size());
  for (const auto& [name, gradient] : gradients) {
    const auto [difference, size] = distance(gradient, golden.values("grad/" + name));
    EXPECT_LE(difference, kGradientTolerance * size + 1e-7) << name;
  }
}

TEST_P(ClassifyGolden, GradientsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  TrainingConfig config;
  config.batch_size = 4;
  expect_golden_gradients(client, golden, config);
  config.compute = {.layers = Layers::scan, .save = RematPolicy::products};
  config.micro_batches = 2;
  expect_golden_gradients(client, golden, config);
}

TEST_P(TokensGolden, ScoresAndGradientsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  const ClassifyTask c = golden.settings();
  data::Batch batch = golden.batch();
  batch.arrays.resize(3);
  Prediction scores = class_probabilities(c, 12);
  scores.outputs = [c](const Scope& root, const Inputs& in) -> std::vector<Tensor> {
    return {c.labels.problem == io::Problem::answer_spans
                ? answer_logits(root, c.encoder, encoder_inputs(in))
                : token_logits(root, c.encoder, encoder_inputs(in), 3, 0)};
  };
  const Probe got = probe(client, scores, batch, golden.state());
  const auto [difference, size] = distance(got.results[0], golden.values("scores"));
  EXPECT_LE(difference, kLossTolerance * size);
  TrainingConfig config;
  config.batch_size = 4;
  expect_golden_gradients(client, golden, config);
  config.compute = {.layers = Layers::scan, .save = RematPolicy::products};
  config.micro_batches = 2;
  expect_golden_gradients(client, golden, config);
}

// Shortening a batch to its tokens does not change losses and gradients.
TEST_P(ClassifyGolden, RemovingPaddingDoesNotChangeLossesAndGradients) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  ClassifyTask settings = golden.settings();
  settings.lengths = {9, 12};
  const Task task = classify_task(settings);
  data::Batch batch = golden.batch();
  for (std::size_t i = 0; i < 3; ++i)  // rows of up to 9 tokens
    for (std::size_t row = 0; row < 4; ++row)
      std::ranges::fill(batch.arrays[i].values<std::int32_t>().subspan(12 * row + 9, 3), 0);
  const auto of = [&](const Task& cut, const data::Batch& rows) {
    return probe(client,
                 {.features = cut.features,
                  .outputs = [&](const Scope& root,
                                 const Inputs& in) { return losses_and_gradients(cut, root, in); }},
                 rows, golden.state());
  };
  const Probe whole = of(task, batch),
              cut = of(with_length(task, 9), data::with_length(batch, task.features, 12, 9));
  for (std::size_t i = 0; i < whole.results.size(); ++i) {
    const auto [difference, size] = distance(cut.results[i], whole.results[i]);
    EXPECT_LE(difference, kGradientTolerance * size + 1e-7) << i;
  }
}

// A row with weight 0 has no effect.
TEST_P(ClassifyGolden, PaddingExamplesDoNotChangeLosses) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  for (const io::Problem problem :
       {io::Problem::single_label, io::Problem::multi_label, io::Problem::regression}) {
    data::Batch filled = golden.batch(problem), alone = filled;
    for (data::HostArray& array : alone.arrays) {
      array.bytes.resize(array.bytes.size() / 4 * 3);
      array.shape.dims[0] = 3;
    }
    alone.rows = 3;
    filled.arrays.back().values<std::int32_t>()[3] = 0;
    const Probe a = losses(client, golden, problem, filled),
                b = losses(client, golden, problem, alone);
    ASSERT_EQ(a.results.size(), b.results.size());
    for (std::size_t i = 0; i < a.results.size(); ++i) {
      const auto [difference, size] = distance(a.results[i], b.results[i]);
      EXPECT_LE(difference, kGradientTolerance * size + 1e-7) << i;
    }
  }
}

// A simple implementation of the weighted and smoothed loss: in double, row by row, with the
// gradient of the head's bias.
struct SlowLoss {
  double loss = 0;
  std::vector<double> bias;
};
SlowLoss slow_loss(const std::vector<float>& scores, std::span<const std::int32_t> labels,
                   const std::vector<double>& w, double smoothing) {
  const std::size_t C = w.size();
  double sum = 0, weight = 0;
  std::vector<double> bias(C, 0);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto label = static_cast<std::size_t>(labels[row]);
    double all = 0;
    for (std::size_t c = 0; c < C; ++c) all += std::exp(scores[row * C + c]);
    weight += w[label];
    for (std::size_t c = 0; c < C; ++c) {
      const double share = (c == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(C);
      sum += share * w[c] * (std::log(all) - scores[row * C + c]);
      for (std::size_t k = 0; k < C; ++k)
        bias[k] += share * w[c] * (std::exp(scores[row * C + k]) / all - (k == c ? 1 : 0));
    }
  }
  for (double& each : bias) each /= weight;
  return {sum / weight, bias};
}

void expect_slow_loss(const std::shared_ptr<const pjrt::Client>& client,
                      const GoldenClassify& golden, const ClassifyTask& task,
                      const TrainingConfig& config, const ShardingPlan& placement) {
  const data::Batch batch = golden.batch();
  const SlowLoss want = slow_loss(golden.values("scores"), batch.arrays[3].values<std::int32_t>(),
                                  task.class_weights, task.label_smoothing);
  const auto [loss, gradients] =
      step_gradients(client, classify_task(task), config, batch, golden.state(), placement);
  EXPECT_NEAR(loss, want.loss, kLossTolerance * want.loss);
  int biases = 0;
  for (const auto& [name, gradient] : gradients) {
    if (!is_class_head(name) || gradient.size() != want.bias.size()) continue;
    ++biases;
    for (std::size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(gradient[i], want.bias[i], 1e-5) << name;
  }
  EXPECT_EQ(biases, 1);
}

TEST_P(ClassifyGolden, ClassWeightsAndSmoothingMatchASimpleImplementation) {
  SMELT_OPEN_CPU(client, 2);
  const GoldenClassify golden(GetParam());
  ClassifyTask task = golden.settings();
  TrainingConfig config;
  config.batch_size = 4;
  task.class_weights = {0.5, 3, 1};
  expect_slow_loss(client, golden, task, config, placement_for("cpu", 1, Reduction::global));
  task.label_smoothing = 0.1;
  config.compute = {.layers = Layers::scan, .save = RematPolicy::products};  // the TPU form
  config.micro_batches = config.devices = 2;
  expect_slow_loss(
      client, golden, task, config,
      placement_for("cpu", 2, Reduction::global, partition_for({.mesh = "fsdp=2"}, 2)));
}

// Models trained with different weights must be comparable.
TEST_P(ClassifyGolden, EvaluationLossIgnoresClassWeights) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenClassify golden(GetParam());
  ClassifyTask task = golden.settings();
  task.class_weights = {0.5, 3, 1};
  task.label_smoothing = 0.1;
  const Task made = classify_task(task);
  const Probe got =
      probe(client,
            {.features = made.features,
             .outputs = [&](const Scope& root, const Inputs& in) -> std::vector<Tensor> {
               const Metric loss = made.objective(root, in).losses.front();
               return {loss.sum / loss.weight};
             }},
            golden.batch(), golden.state());
  const double want = golden.facts()["losses"]["single_label"];
  EXPECT_NEAR(got.results[0][0], want, kLossTolerance * want);
}

}  // namespace
}  // namespace smelt::model
