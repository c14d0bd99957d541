// T5 and its gradients against transformers (tools/golden_t5.py), and in all forms of its layers.
#include <gtest/gtest.h>

#include "models/t5.h"
#include "ops/ops.h"
#include "optim/adafactor.h"
#include "optim/adamw.h"
#include "runs/golden_t5.h"
#include "runs/mesh_bert.h"
#include "runs/probe.h"
#include "store/file.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt {
namespace {

class T5Golden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, T5Golden, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST(T5, BucketsOfDistancesAreTransformers) {
  const auto facts = Json::parse(read_file(source_path("tests/golden/t5_tiny.json")));
  const std::int64_t first = facts["first_distance"];
  for (const bool both : {true, false}) {
    const auto& want = facts[both ? "both" : "behind"];
    EXPECT_EQ(want.size(), 601u);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(t5_bucket({}, first + static_cast<std::int64_t>(i), both), want[i]) << i << both;
  }
}

TEST_P(T5Golden, StatesAndScoresMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  const T5Task c = golden.settings();
  const auto outputs = [&](const Scope& root, const Inputs& in) {
    const Tensor ids = in["inputs"],
                 mask = convert(compare(ids, zeros_like(ids), Compare::ne), DType::s32);
    const Tensor states = t5_encoder(root, c.model, t5_embed(root, c.model, ids), mask);
    const Tensor told = t5_embed(root.again("told"), c.model, t5_decoder_inputs(in["targets"]));
    const Tensor rows = t5_decoder(root, c.model, told, T5Encoded{states, mask});
    const Tensor flat = reshape(rows, {rows.dim(0) * rows.dim(1), rows.dim(2)});
    return std::vector{states, word_scores(t5_word_head(root, c.model, flat))};
  };
  const Probe got = probe(client, {.features = t5_task(c).features, .outputs = outputs},
                          golden.batch(), golden.state());
  for (const auto& [i, name] : {std::pair{0, "states"}, {1, "scores"}}) {
    const auto [difference, size] = distance(got.results[i], golden.values(name));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
}

void expect_golden_gradients(const std::shared_ptr<const Client>& client, const GoldenT5& golden,
                             const TrainingConfig& config) {
  const auto [loss, gradients] =
      step_gradients(client, t5_task(golden.settings()), config, golden.batch(), golden.state());
  const double want = golden.facts()["losses"]["loss"];
  EXPECT_NEAR(loss, want, kLossTolerance * want);
  EXPECT_EQ(gradients.size(), golden.state().size());
  for (const auto& [name, gradient] : gradients) {
    const auto [difference, size] = distance(gradient, golden.values("grad/" + name));
    EXPECT_LE(difference, kGradientTolerance * size) << name;
  }
}

TEST_P(T5Golden, LossesAndEveryGradientMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  const Probe got = probe(client,
                          {.features = t5_task(golden.settings()).features,
                           .outputs =
                               [&](const Scope& root, const Inputs& in) {
                                 return losses_and_gradients(t5_task(golden.settings()), root, in);
                               }},
                          golden.batch(), golden.state());
  for (const auto& [i, name] : {std::pair{0, "loss"}, {1, "target_loss"}, {2, "z_loss"}}) {
    const double want = golden.facts()["losses"][name];
    EXPECT_NEAR(got.results[i][0], want, kLossTolerance * want) << name;
  }
  expect_golden_gradients(client, golden, {});
}

// A loop of layers whose products are kept, queries and words in blocks.
TEST_P(T5Golden, InATpusFormEveryGradientMatchesTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  const std::int64_t rows = golden.batch().rows * golden.settings().targets_length;
  TrainingConfig config;
  config.compute = {.exact_products = true,
                    .layers = Layers::scan,
                    .save = Save::products,
                    .softmax_by_context = true,
                    .attention_rows = 4,
                    .logits_bytes = rows * 7 * static_cast<std::int64_t>(sizeof(float))};
  expect_golden_gradients(client, golden, config);
}

// Of all parameters together: scores that are not over sqrt(D) make single ones noisy.
TEST_P(T5Golden, InBf16LossAndGradientsAreNear) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  TrainingConfig config;
  config.compute = {.dtype = DType::bf16};
  const auto [loss, gradients] =
      step_gradients(client, t5_task(golden.settings()), config, golden.batch(), golden.state());
  const double want = golden.facts()["losses"]["loss"];
  EXPECT_NEAR(loss, want, 0.01 * want);
  double difference = 0, size = 0;
  for (const auto& [name, gradient] : gradients) {
    const auto [own, of] = distance(gradient, golden.values("grad/" + name));
    difference += own * own;
    size += of * of;
  }
  EXPECT_LE(difference, kNarrowGradientTolerance * kNarrowGradientTolerance * size);
}

// Losses before each step from the golden weights.
std::vector<float> ten_losses(const std::shared_ptr<const Client>& client, const GoldenT5& golden,
                              Optimizer optimizer, double learning_rate) {
  TrainingConfig config;
  config.batch_size = golden.batch().rows;
  config.clip_norm = 0;
  config.schedule = {.learning_rate = learning_rate, .total_steps = 10, .warmup = Warmup::none};
  config.schedule.decay = Decay::constant;
  config.optimizer = std::move(optimizer);
  const StepProgram program =
      train_program(t5_task(golden.settings()), config, placement_for("cpu", 1, {}));
  const CompiledStep step(client, program);
  ModelState state =
      ModelState::fresh(*client, program.placement, program.state, config.seed, golden.state());
  std::vector<float> out;
  for (int i = 0; i < 10; ++i) {
    Execution execution = step.run(golden.batch(), state, i);
    out.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  return out;
}

TEST_P(T5Golden, TenStepsOfAdamAndOfAdafactorAreOptaxs) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  const Optimizer adam =
      adamw({.epsilon = 1e-8, .weight_decay = 0, .bias_correction = BiasCorrection::on});
  for (const auto& [name, optimizer, rate] :
       {std::tuple{"adam", adam, 0.01}, {"adafactor", adafactor({.least_factored = 8}), 0.005}}) {
    const auto want = golden.facts()["ten_steps"][name].get<std::vector<double>>();
    const auto got = ten_losses(client, golden, optimizer, rate);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 1e-4 * want[i]) << name << " step " << i;
  }
}

// ---- over devices ----

T5Task mesh_t5() {
  T5Task c{.inputs_length = 16, .targets_length = 8, .words = {{3, 40}, {40, 250}}};
  c.model.vocab_size = 256;
  c.model.d_model = 32;
  c.model.d_kv = 8;
  c.model.d_ff = 64;
  c.model.num_layers = 2;
  c.model.num_heads = 8;
  return c;
}

std::vector<float> mesh_losses(const std::shared_ptr<const Client>& client,
                               const Placement& placement, Layers layers, std::int64_t parts = 1) {
  const Task task = t5_task(mesh_t5());
  TrainingConfig config = mesh_config(placement.devices);
  config.compute = {.layers = layers, .save = layers == Layers::scan ? Save::products : Save::all};
  config.micro_batches = parts;
  const StepProgram program = train_program(task, config, placement);
  const CompiledStep step(client, program);
  ModelState state = ModelState::fresh(*client, placement, program.state, config.seed);
  const Batch batch = mesh_batch(task.features, config.batch_size, 1);
  std::vector<float> out;
  for (int i = 0; i < 4; ++i) {
    Execution execution = step.run(batch, state, i);
    out.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  return out;
}

TEST(T5Training, IsTheSameWithDropoutInPartsInALoopAndOverAMesh) {
  SMELT_OPEN_CPU(client, 8);
  const auto want =
      mesh_losses(client, placement_for("cpu", 1, Reduction::global), Layers::unrolled);
  EXPECT_LT(want.back(), want.front() - 0.1);
  const auto expect_same = [&](const std::vector<float>& got) {
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-5 * want[i]) << i;
  };
  expect_same(mesh_losses(client, placement_for("cpu", 1, Reduction::global), Layers::scan, 4));
  expect_same(mesh_losses(client, mesh_placement("data=2,fsdp=2,tensor=2"), Layers::scan));
}

}  // namespace
}  // namespace smelt
