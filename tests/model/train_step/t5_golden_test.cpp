// T5 and its gradients compared with transformers (tools/golden_t5.py), in all forms of its layers.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "compiler/ops/ops.h"
#include "execution/train_state/initialize.h"
#include "io/filesystem/file.h"
#include "model/models/t5.h"
#include "model/optim/adafactor.h"
#include "model/optim/adamw.h"
#include "runs/golden_t5.h"
#include "runs/mesh_bert.h"
#include "runs/probe.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::DType;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

class T5Golden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, T5Golden, testing::Values("small", "gated"),
                         [](const auto& info) { return info.param; });

TEST(T5, BucketsMatchTransformers) {
  const auto facts = Json::parse(io::read_file(source_path("tests/golden/t5_tiny.json")));
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
    const Tensor embedded =
        t5_embed(root.again("decoder"), c.model, t5_decoder_inputs(in["targets"]));
    const Tensor rows = t5_decoder(root, c.model, embedded, T5Encoded{states, mask});
    const Tensor flat = reshape(rows, {rows.dim(0) * rows.dim(1), rows.dim(2)});
    return std::vector{states, lm_logits(t5_word_head(root, c.model, flat))};
  };
  const Probe got = probe(client, {.features = t5_task(c).features, .outputs = outputs},
                          golden.batch(), golden.state());
  for (const auto& [i, name] : {std::pair{0, "states"}, {1, "scores"}}) {
    const auto [difference, size] = distance(got.results[i], golden.values(name));
    EXPECT_LE(difference, kLossTolerance * size) << name;
  }
}

void expect_golden_gradients(const std::shared_ptr<const pjrt::Client>& client,
                             const GoldenT5& golden, const TrainingConfig& config) {
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

TEST_P(T5Golden, LossesAndGradientsMatchTheReference) {
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

// A scan that stores matmuls, with blocks of queries and words.
TEST_P(T5Golden, GradientsWithTpuSettingsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenT5 golden(GetParam());
  const std::int64_t rows = golden.batch().rows * golden.settings().targets_length;
  TrainingConfig config;
  config.compute = {.exact_products = true,
                    .layers = Layers::scan,
                    .save = RematPolicy::products,
                    .softmax_by_context = true,
                    .attention_rows = 4,
                    .logits_bytes = rows * 7 * static_cast<std::int64_t>(sizeof(float))};
  expect_golden_gradients(client, golden, config);
}

// The standard deviations of T5X (variance_scaling and normal initializers) and of transformers'
// T5PreTrainedModel._init_weights, by the end of the parameter's name.
double original_deviation(const T5Config& c, std::string_view name) {
  const auto over_root = [](std::int64_t n) { return 1 / std::sqrt(static_cast<double>(n)); };
  for (const auto& [end, deviation] : std::vector<std::pair<std::string_view, double>>{
           {"shared/embedding", 1},
           {"Attention/q", over_root(c.d_model * c.d_kv)},
           {"Attention/k", over_root(c.d_model)},
           {"Attention/v", over_root(c.d_model)},
           {"Attention/o", over_root(c.num_heads * c.d_kv)},
           {"/wi/kernel", over_root(c.d_model)},
           {"/wi_0/kernel", over_root(c.d_model)},
           {"/wi_1/kernel", over_root(c.d_model)},
           {"/wo/kernel", over_root(c.d_ff)},
           {"logits/kernel", over_root(c.d_model)},
           {"relative_attention_bias", over_root(c.d_model)}})
    if (name.ends_with(end)) return deviation;
  return 0;
}

TEST(T5, InitialWeightsHaveTheOriginalStandardDeviations) {
  for (const bool gated : {false, true}) {
    T5Task task{.inputs_length = 4, .targets_length = 4};
    task.model.vocab_size = 256;
    task.model.d_model = 64;
    task.model.d_kv = 16;
    task.model.d_ff = 128;
    task.model.num_layers = 1;
    task.model.num_heads = 8;
    task.model.feed_forward_proj = gated ? "gated-gelu" : "relu";
    task.model.tie_word_embeddings = !gated;
    TrainingConfig config;
    config.batch_size = 4;
    config.optimizer = adamw({});
    const StepProgram program = train_program(t5_task(task), config, placement_for("cpu", 1, {}));
    std::int64_t drawn = 0;
    for (const StateTensor& t : program.state.tensors) {
      if (t.init.kind == Init::constant) continue;
      ++drawn;
      std::vector<float> values(static_cast<std::size_t>(t.shape.elements()));
      execution::draw_initial(t, 7, values);
      double squares = 0;
      for (const float value : values) squares += double{value} * value;
      const auto n = static_cast<double>(values.size());
      const double want = original_deviation(task.model, t.name);
      ASSERT_GT(want, 0) << t.name;
      // The standard deviation of a sample is within 4 / sqrt(2 n) of the true one.
      EXPECT_NEAR(std::sqrt(squares / n) / want, 1, 4 / std::sqrt(2 * n)) << t.name;
    }
    EXPECT_EQ(drawn, gated ? 22 : 19);
  }
}

// The width 48 gives the scale 0.1443, which bf16 rounds to 0.14453. A scale that is exact in bf16
// would not reveal the rounding.
TEST(T5, TiedHeadInBf16IsScaledInF32) {
  SMELT_OPEN_CPU(client, 1);
  T5Config c;
  c.vocab_size = 64;
  c.d_model = 48;
  const auto scores = [&](DType dtype) {
    const auto outputs = [&](const Scope& root, const Inputs& in) {
      const Tensor rows = convert(t5_embed(root, c, in["ids"]), dtype);
      return std::vector{lm_logits(t5_word_head(root, c, reshape(rows, {rows.dim(0), c.d_model})))};
    };
    const io::Features features{{.name = "ids", .row = {1}, .limit = c.vocab_size}};
    data::Batch batch = data::empty_batch(features, 64);
    const auto ids = batch.arrays[0].values<std::int32_t>();
    std::iota(ids.begin(), ids.end(), 0);
    std::vector<float> words(static_cast<std::size_t>(c.vocab_size * c.d_model));
    for (std::size_t i = 0; i < words.size(); ++i)  // small integers are exact in bf16
      words[i] = static_cast<float>(static_cast<int>(i * 7919 % 17) - 8);
    const io::TensorMap state{
        {"shared/embedding",
         {{DType::f32, {c.vocab_size, c.d_model}}, std::as_bytes(std::span(words))}}};
    return probe(client, {.features = features, .outputs = outputs}, batch, state).results[0];
  };
  const auto wide = scores(DType::f32), narrow = scores(DType::bf16);
  ASSERT_EQ(wide.size(), narrow.size());
  for (std::size_t i = 0; i < wide.size(); ++i)
    EXPECT_NEAR(narrow[i], wide[i], 1e-6 * std::abs(wide[i]) + 1e-6) << i;
}

// Compares all gradients together: single ones are noisy, as scores are not divided by sqrt(D).
TEST_P(T5Golden, LossAndGradientsInBf16AreNearTheReference) {
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

// Returns the losses before each step, starting from the golden weights.
std::vector<float> ten_losses(const std::shared_ptr<const pjrt::Client>& client,
                              const GoldenT5& golden, Optimizer optimizer, double learning_rate) {
  TrainingConfig config;
  config.batch_size = golden.batch().rows;
  config.clip_norm = 0;
  config.schedule = {.learning_rate = learning_rate, .total_steps = 10, .warmup = Warmup::none};
  config.schedule.decay = Decay::constant;
  config.optimizer = std::move(optimizer);
  const StepProgram program =
      train_program(t5_task(golden.settings()), config, placement_for("cpu", 1, {}));
  const execution::CompiledStep step(client, program);
  execution::ModelState state = execution::ModelState::fresh(
      *client, program.placement, program.state, config.seed, golden.state());
  std::vector<float> out;
  for (int i = 0; i < 10; ++i) {
    pjrt::Execution execution = step.run(golden.batch(), state, i);
    out.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  return out;
}

TEST_P(T5Golden, TenStepsOfAdamAndAdafactorMatchOptax) {
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

// ---- several devices ----

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

std::vector<float> mesh_losses(const std::shared_ptr<const pjrt::Client>& client,
                               const ShardingPlan& placement, Layers layers,
                               std::int64_t parts = 1) {
  const Task task = t5_task(mesh_t5());
  TrainingConfig config = mesh_config(placement.devices);
  config.compute = {.layers = layers,
                    .save = layers == Layers::scan ? RematPolicy::products : RematPolicy::all};
  config.micro_batches = parts;
  const StepProgram program = train_program(task, config, placement);
  const execution::CompiledStep step(client, program);
  execution::ModelState state =
      execution::ModelState::fresh(*client, placement, program.state, config.seed);
  const data::Batch batch = mesh_batch(task.features, config.batch_size, 1);
  std::vector<float> out;
  for (int i = 0; i < 4; ++i) {
    pjrt::Execution execution = step.run(batch, state, i);
    out.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
  }
  return out;
}

TEST(T5Training, DoesNotDependOnMicroBatchesScanAndMeshes) {
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
}  // namespace smelt::model
