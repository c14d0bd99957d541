// Steps on packed rows compute the same losses and gradients as steps on padded rows, with dropout,
// on any number of devices and micro-batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "execution/train_state/compiled_step.h"
#include "execution/train_state/placement_options.h"
#include "model/models/modernbert_config.h"
#include "model/models/roberta_config.h"
#include "model/tasks/deberta_rtd_task.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/token_features.h"
#include "model/train_step/model_flops.h"
#include "pjrt/topology.h"
#include "reference/evaluate.h"
#include "runs/collectives.h"
#include "runs/mesh_bert.h"
#include "runs/packed_batch.h"
#include "runs/step_in_f64.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::DType;
namespace {

// ---- tiny models ----

BertTask tiny_bert() {
  BertTask bert = mesh_bert(0.1);
  bert.model.vocab_size = 12;
  bert.model.hidden_size = 8;
  bert.model.num_attention_heads = 2;
  bert.model.intermediate_size = 6;
  bert.model.initializer_range = 0.5;
  return bert;
}

Task tiny_electra() {
  ElectraTask c{.seq_length = 16, .ids = {.cls = 0, .sep = 1, .mask = 2}};
  c.settings.mask_prob = 0.3;
  c.model.vocab_size = 12;
  c.model.embedding_size = 4;
  c.model.hidden_size = 8;
  c.model.num_hidden_layers = 2;
  c.model.num_attention_heads = 2;
  c.model.intermediate_size = 6;
  c.model.generator_hidden_size = 1;
  c.model.generator_layers = 0.5;
  c.model.max_position_embeddings = 16;
  c.model.initializer_range = 0.5;
  return electra_task(c);
}

Task tiny_masked_lm(const Encoder& encoder) {
  return masked_lm_task(
      {.encoder = encoder, .seq_length = 16, .mask_prob = 0.3, .cls = 0, .sep = 1, .mask = 2});
}

Task tiny_roberta() {
  RobertaConfig c;
  c.vocab_size = 12;
  c.hidden_size = 8;
  c.num_hidden_layers = 1;
  c.num_attention_heads = 2;
  c.intermediate_size = 6;
  c.max_position_embeddings = 18;
  c.initializer_range = 0.5;
  return tiny_masked_lm(roberta_encoder(c, "test"));
}

ModernbertConfig tiny_modernbert_config() {
  ModernbertConfig c;
  c.vocab_size = 12;
  c.hidden_size = 8;
  c.num_hidden_layers = 4;
  c.num_attention_heads = 2;
  c.intermediate_size = 6;
  c.max_position_embeddings = 16;
  c.local_attention = 4;
  c.initializer_range = 0.5;
  return c;
}

Task tiny_modernbert() {
  ModernbertConfig c = tiny_modernbert_config();
  c.embedding_dropout = c.attention_dropout = c.mlp_dropout = 0.1;
  return tiny_masked_lm(modernbert_encoder(c, "test"));
}

Task tiny_deberta_rtd() {
  DebertaRtdTask c{.seq_length = 16, .ids = {.cls = 0, .sep = 1, .mask = 2}};
  c.settings.mask_prob = 0.3;
  c.model.vocab_size = 12;
  c.model.hidden_size = 8;
  c.model.embedding_size = 4;
  c.model.num_hidden_layers = 2;
  c.model.num_attention_heads = 2;
  c.model.intermediate_size = 6;
  c.model.max_position_embeddings = 16;
  c.model.position_buckets = 4;
  c.model.initializer_range = 0.5;
  return deberta_rtd_task(c);
}

// ---- in f64 ----

// Returns the results of the first step from random values.
std::vector<testing::Value> random_step(const StepProgram& step, const data::Batch& batch) {
  return step_in_f64(step, batch, [](const StateTensor& of, std::size_t at) {
    return testing::random_value({of.shape, -1, 1}, at + 1);
  });
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return std::sqrt(sum);
}

// Returns the norm of the difference over the norm.
double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference;
  for (std::size_t i = 0; i < a.size(); ++i) difference.push_back(a[i] - b[i]);
  return norm(difference) / std::max(norm(b), 1e-6);
}

TrainingConfig tiny_config() {
  TrainingConfig c = mesh_config(1);
  c.batch_size = 6;
  c.clip_norm = 0;
  return c;
}

class PackedFamilies : public ::testing::TestWithParam<Task (*)()> {};

// The first moments are a tenth of the gradients.
TEST_P(PackedFamilies, LossAndGradientsMatchPaddedRowsInF64) {
  const Task task = GetParam()();
  const TrainingConfig config = tiny_config();
  const data::Batch batch = short_sequences(task.features, config.batch_size, 2);
  const data::PackingPlan plan = packing_plan_of(task, batch);
  const ShardingPlan one = placement_for("cpu", 1, Reduction::global);
  const StepProgram padded = train_program(task, config, one);
  const StepProgram packed = train_program(packed_task(task, plan.slots()), config, one);
  ASSERT_EQ(packed.state.tensors.size(), padded.state.tensors.size());
  double largest = 0;  // norm of a tenth of a gradient
  const auto want = random_step(padded, batch);
  const auto got = random_step(packed, data::pack(batch, task.features, plan).value());
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!want[i].is_real()) continue;
    const bool has_name = i < padded.state.tensors.size();
    const std::string name = has_name ? padded.state.tensors[i].name : "the report";
    EXPECT_LT(relative_difference(got[i].real, want[i].real), 1e-12) << name;
    if (name.ends_with("/adam_m")) largest = std::max(largest, norm(want[i].real));
  }
  EXPECT_GT(norm(want.back().real), 1);
  EXPECT_GT(largest, 0.001) << "the gradients are zero";
}

std::string family_name(const ::testing::TestParamInfo<Task (*)()>& of) { return of.param().name; }

INSTANTIATE_TEST_SUITE_P(Families, PackedFamilies,
                         ::testing::Values([] { return bert_task(tiny_bert()); }, tiny_electra,
                                           tiny_roberta, tiny_modernbert, tiny_deberta_rtd),
                         family_name);

// ---- on devices ----

struct Steps {
  std::vector<float> losses;
  StateValues first, last;
};

// Trains on another batch in each step.
Steps train(const std::shared_ptr<const pjrt::Client>& client, const Task& task,
            const TrainingConfig& config, const ShardingPlan& placement, bool packs) {
  std::vector<data::Batch> batches;
  data::PackingPlan plan;
  for (std::uint64_t i = 0; i < 4; ++i) {
    batches.push_back(short_sequences(task.features, config.batch_size, 4 + i));
    plan = packing_plan_of(task, batches.back(), placement.row_shards(), config.micro_batches,
                           plan.rows);
  }
  const StepProgram program =
      train_program(packs ? packed_task(task, plan.slots()) : task, config, placement);
  const execution::CompiledStep step(client, program);
  execution::ModelState state =
      execution::ModelState::fresh(*client, placement, program.state, config.seed);
  Steps out;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const data::Batch batch =
        packs ? data::pack(batches[i], task.features, plan).value() : batches[i];
    pjrt::Execution execution = step.run(batch, state, static_cast<std::int64_t>(i));
    out.losses.push_back(execution.results[0].back().to_host<float>()[0]);
    state.replace(execution.results);
    if (i == 0) out.first = values_of(state);
  }
  out.last = values_of(state);
  return out;
}

void expect_same_steps(const Steps& got, const Steps& want, double limit) {
  for (std::size_t i = 0; i < want.losses.size(); ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], limit * want.losses[i]) << "step " << i;
  expect_same_state(got.first, want.first, limit);
  expect_same_state(got.last, want.last, 100 * limit);
}

TrainingConfig with_tpu_settings(std::int64_t devices) {
  TrainingConfig c = mesh_config(devices);
  c.compute = compute_for("tpu", {.precision = Precision::f32_exact});
  c.compute.attention_rows = 5;  // does not divide 16
  return c;
}

TEST(PackedSteps, MatchPaddedOnesOnOneDevice) {
  SMELT_OPEN_CPU(client, 8);
  const Task task = bert_task(mesh_bert());
  const ShardingPlan one = placement_for("cpu", 1, Reduction::global);
  const Steps padded = train(client, task, mesh_config(1), one, false);
  expect_same_steps(train(client, task, mesh_config(1), one, true), padded, 1e-6);
  TrainingConfig config = mesh_config(1);
  config.micro_batches = 2;
  expect_same_steps(train(client, task, config, one, true), padded, 1e-6);
  expect_same_steps(train(client, task, with_tpu_settings(1), one, true), padded, 1e-6);
}

TEST(PackedSteps, MatchPaddedOnesOnEightDevices) {
  SMELT_OPEN_CPU(client, 8);
  const Task task = bert_task(mesh_bert());
  const Steps padded =
      train(client, task, mesh_config(1), placement_for("cpu", 1, Reduction::global), false);
  TrainingConfig config = mesh_config(2);
  expect_same_steps(train(client, task, config, placement_for("cpu", 2, Reduction::global), true),
                    padded, 1e-5);
  config = with_tpu_settings(8);
  expect_same_steps(
      train(client, task, config, mesh_placement("data=2,fsdp=2,tensor=2", true), true), padded,
      1e-5);
  config.micro_batches = 2;
  expect_same_steps(train(client, task, config, mesh_placement("data=2,fsdp=2,tensor=2"), true),
                    padded, 1e-5);
}

// The positions of masks are drawn on the devices.
TEST(PackedSteps, DrawTheMasksOfPaddedOnes) {
  SMELT_OPEN_CPU(client, 8);
  const Task task = tiny_roberta();
  const Steps padded =
      train(client, task, mesh_config(1), placement_for("cpu", 1, Reduction::global), false);
  TrainingConfig config = with_tpu_settings(8);
  config.micro_batches = 2;
  expect_same_steps(train(client, task, config, mesh_placement("data=4,fsdp=2"), true), padded,
                    1e-5);
}

// Dropout of relative embeddings does not depend on the rows of a device or a micro-batch.
TEST(PackedSteps, OfTwoDebertasMatchPaddedOnes) {
  SMELT_OPEN_CPU(client, 8);
  const Task task = tiny_deberta_rtd();
  const Steps padded =
      train(client, task, mesh_config(1), placement_for("cpu", 1, Reduction::global), false);
  TrainingConfig config = with_tpu_settings(8);
  config.micro_batches = 2;
  config.compute.layers = Layers::scan;
  // The limit is higher than for one model: small gradients of the generator are differences of
  // larger terms.
  expect_same_steps(train(client, task, config, mesh_placement("data=2,fsdp=2,tensor=2"), true),
                    padded, 3e-5);
}

// Four sequences in two rows of 16: the layers need half of the operations, the heads as many.
TEST(PackedSteps, NeedFewerOperations) {
  BertTask bert = mesh_bert();
  const Task task = bert_task(bert);
  const double packed = training_flops(packed_task(task, 8), 4);
  bert.model.num_hidden_layers = 1;  // of two
  const double one_layer = training_flops(bert_task(bert));
  EXPECT_LT(packed, one_layer);  // segments are looked up by a matmul, too
  EXPECT_GT(packed, 0.95 * one_layer);
}

TEST(PackedSteps, AreNotForTwoTowers) {
  ElectraTask c;
  c.model.vocab_size = 200;
  EXPECT_TRUE(electra_task(c).can_be_packed);
  c.settings.two_tower_generator = true;
  EXPECT_FALSE(electra_task(c).can_be_packed);
}

// The same program on the same batch, in which one sequence has other tokens.
TEST(PackedSteps, SequencesDoNotSeeTheirNeighbours) {
  SMELT_OPEN_CPU(client, 1);
  const Task task = tiny_modernbert();
  const data::Batch batch = short_sequences(task.features, 6, 2);
  data::Batch other = batch;
  for (std::int32_t& id : other.arrays[0].values<std::int32_t>().first(16)) id = (id + 1) % 12;
  const data::PackingPlan plan = packing_plan_of(task, batch);
  const Encoder encoder = modernbert_encoder(tiny_modernbert_config(), "test");
  Prediction prediction{.features = packed_task(task, plan.slots()).features};
  prediction.outputs = [&](const Scope& root, const Inputs& in) {
    return std::vector{encoder->sequence(root, encoder_inputs(in))};
  };
  const StepProgram program = predict_program(prediction, 6);
  const execution::CompiledStep step(client, program);
  const execution::ModelState state =
      execution::ModelState::fresh(*client, program.placement, program.state, 1);
  const auto states_of = [&](const data::Batch& of) {
    return step.run(data::pack(of, task.features, plan).value(), state)
        .results[0][0]
        .to_host<float>();
  };
  const std::vector<float> before = states_of(batch), after = states_of(other);
  const auto rows = data::pack(batch, task.features, plan)->arrays.back();
  for (std::size_t place = 0; place < 6; ++place) {
    const auto own = [&](const std::vector<float>& all) {
      return std::vector(all.begin() + static_cast<std::ptrdiff_t>(place) * 16 * 8,
                         all.begin() + static_cast<std::ptrdiff_t>(place + 1) * 16 * 8);
    };
    if (rows.values<std::int32_t>()[place] == 0)
      EXPECT_NE(own(before), own(after));
    else
      EXPECT_EQ(own(before), own(after)) << "place " << place;
  }
}

// ---- as the TPU compiler compiles them ----

class PackedOnTpus : public ::testing::TestWithParam<const char*> {};

// Packing and unpacking need no communication: each device has the sequences of its own rows.
TEST_P(PackedOnTpus, ProgramsCompileWithoutMoreCommunication) {
  REQUIRE_PLUGIN("tpu");
  const Task task = bert_task(mesh_bert());
  TrainingConfig config = mesh_config(8);
  config.compute = compute_for("tpu", {});
  config.micro_batches = 2;
  const ShardingPlan placement = mesh_placement("data=4,fsdp=2");
  // Returns the number of elements that all collectives give.
  const auto moved = [&](const Task& of) {
    const StepProgram program = train_program(of, config, placement);
    const auto compiled = pjrt::Topology::tpu(GetParam())
                              .compile(compiler::emit_module(program.program, "step"),
                                       execution::compile_options(placement));
    std::int64_t elements = 0;
    for (const Collective& c : collectives_of(compiled))
      elements += compiler::Shape{DType::f32, c.dims}.elements();
    return elements;
  };
  const std::int64_t padded = moved(task);
  EXPECT_LE(moved(packed_task(task, 8)), padded + padded / 100);
}

INSTANTIATE_TEST_SUITE_P(Chips, PackedOnTpus, ::testing::Values("v2:2x2", "v5e:2x4"));

}  // namespace
}  // namespace smelt::model
