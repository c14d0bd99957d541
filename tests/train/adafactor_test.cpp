// Training with Adafactor: the result does not depend on layers (scan or unrolled), devices and
// micro-batches.
#include "model/optim/adafactor.h"

#include <gtest/gtest.h>

#include "compiler/ops/ops.h"
#include "execution/train_state/compiled_step.h"
#include "model/nn/layers.h"
#include "runs/mesh_bert.h"
#include "runs/state_values.h"
#include "support/plugins.h"

namespace smelt::train {
namespace {

constexpr double kAdafactorLoss = 1e-5;   // relative: sums in another order
constexpr double kAdafactorState = 1e-5;  // relative, after the first step

model::Optimizer small_adafactor() {
  return model::adafactor({.momentum = 0.9, .least_factored = 8});
}

model::TrainingConfig adafactor_config(std::int64_t devices,
                                       model::Layers layers = model::Layers::unrolled) {
  model::TrainingConfig c = mesh_config(devices);
  c.optimizer = small_adafactor();
  c.clip_norm = 0;
  c.schedule = {.learning_rate = 0.05, .warmup_steps = 4, .warmup = model::Warmup::none};
  c.schedule.decay = model::Decay::inverse_sqrt;
  c.compute = {.layers = layers,
               .save = layers == model::Layers::scan ? compiler::RematPolicy::products
                                                     : compiler::RematPolicy::all};
  return c;
}

MeshRan run_adafactor(const std::shared_ptr<const pjrt::Client>& client,
                      const model::TrainingConfig& config, const model::ShardingPlan& placement) {
  return run_mesh_steps(client, mesh_bert(), config, placement);
}

void expect_same_run(const MeshRan& got, const MeshRan& want) {
  for (std::size_t i = 0; i < kMeshSteps; ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], kAdafactorLoss * want.losses[i]) << "step " << i;
  expect_same_state(got.first, want.first, kAdafactorState);
}

TEST(AdafactorTraining, IsTheSameWithScanMicroBatchesAndMesh) {
  SMELT_OPEN_CPU(client, 8);
  const model::ShardingPlan one = model::placement_for("cpu", 1, model::Reduction::global);
  const MeshRan want = run_adafactor(client, adafactor_config(1), one);
  EXPECT_LT(want.losses.back(), want.losses.front() - 0.1);  // it learns
  EXPECT_TRUE(want.first.contains("bert/encoder/layer_1/output/dense/kernel/adafactor_column"));
  {
    SCOPED_TRACE("a loop of layers in micro-batches");
    model::TrainingConfig parts = adafactor_config(1, model::Layers::scan);
    parts.micro_batches = 4;
    expect_same_run(run_adafactor(client, parts, one), want);
  }
  {
    SCOPED_TRACE("a loop of layers, all axes and split slots");
    expect_same_run(run_adafactor(client, adafactor_config(8, model::Layers::scan),
                                  mesh_placement("data=2,fsdp=2,tensor=2", true)),
                    want);
  }
}

// Three dense layers of size four, which compile fast.
model::Task dense_layers() {
  model::Task task;
  task.name = "dense_layers";
  task.settings = Json::object();
  task.features = {{.name = "x", .dtype = compiler::DType::f32, .row = {4}}};
  task.objective = [](const model::Scope& root, const model::Inputs& in) -> model::Objective {
    const model::Init weights{.kind = model::Init::truncated_normal, .stddev = 0.5};
    const compiler::Tensor y = model::layer_stack(
        root, "layer", 3, in["x"], [&](const model::Scope& s, compiler::Tensor x) {
          return compiler::tanh(model::dense(s / "dense", x, 4, weights));
        });
    const compiler::Tensor sum = compiler::reduce_sum(model::square(y - 1.0), {0, 1});
    return {.losses = {{.name = "error", .sum = sum, .weight = compiler::full_like(sum, 32)}},
            .metrics = {}};
  };
  return task;
}

// Returns the parameters of these layers after four steps, with the middle layer frozen.
StateValues trained_layers(const std::shared_ptr<const pjrt::Client>& client, model::Layers layers,
                           bool trains = true) {
  const model::Task task = dense_layers();
  model::TrainingConfig c = adafactor_config(1, layers);
  c.optimizer = model::adafactor({.weight_decay = 0.1, .least_factored = 4});
  c.rules = model::ParameterRules(
      {"train.optimizer.rate_rules", model::parse_rules("rate", "layer_1/ = 0")},
      {"train.optimizer.decay_rules", model::parse_rules("decay", ".*/kernel = 0.2")});
  const model::StepProgram program =
      model::train_program(task, c, model::placement_for("cpu", 1, model::Reduction::global));
  const execution::CompiledStep step(client, program);
  execution::ModelState state =
      execution::ModelState::fresh(*client, program.placement, program.state, c.seed);
  data::Batch batch = data::empty_batch(task.features, c.batch_size);
  std::ranges::fill(batch.arrays[0].values<float>(), 0.5F);
  for (int i = 0; trains && i < 4; ++i) {
    pjrt::Execution execution = step.run(batch, state, i);
    state.replace(execution.results);
  }
  StateValues out = values_of(state);
  std::erase_if(out,
                [](const auto& item) { return item.first.find("adafactor") != item.first.npos; });
  return out;
}

TEST(AdafactorTraining, FreezesALayerInAScanAsInUnrolledLayers) {
  SMELT_OPEN_CPU(client, 1);
  const auto fresh = trained_layers(client, model::Layers::unrolled, false);
  const auto unrolled = trained_layers(client, model::Layers::unrolled),
             loop = trained_layers(client, model::Layers::scan);
  ASSERT_EQ(unrolled.size(), 6u);
  expect_same_state(loop, unrolled, kAdafactorState);
  for (const auto& [name, values] : fresh) {
    const bool frozen = name.starts_with("layer_1/");
    EXPECT_EQ(unrolled.at(name) == values, frozen) << name;
    EXPECT_EQ(loop.at(name) == values, frozen) << name;
  }
}

TEST(AdafactorSlots, AreRowsAndColumnsPerLayerShardedLikeTheirParameter) {
  const model::StepProgram program =
      model::train_program(model::bert_task(mesh_bert()), adafactor_config(8, model::Layers::scan),
                           mesh_placement("data=2,fsdp=2,tensor=2", true));
  std::map<std::string, std::pair<compiler::Dims, compiler::DimAxes>> slots;
  for (const model::StateTensor& tensor : program.state.tensors)
    slots[tensor.name] = {tensor.shape.dims, tensor.sharding.axes};
  const model::BertConfig model = mesh_bert().model;
  const std::int64_t L = model.num_hidden_layers, H = model.hidden_size,
                     F = model.intermediate_size;
  const auto expect = [&](const std::string& name, const compiler::Dims& dims,
                          const compiler::DimAxes& axes) {
    ASSERT_TRUE(slots.contains(name)) << name;
    EXPECT_EQ(slots[name], std::pair(dims, axes)) << name;
  };
  const std::string layer = "bert/encoder/layer_*/intermediate/dense/";
  expect(layer + "kernel/adafactor_row", {L, H, 1}, {{}, {"fsdp", "data"}, {}});
  expect(layer + "kernel/adafactor_column", {L, 1, F}, {{}, {}, {"tensor"}});
  expect(layer + "kernel/adafactor_m", {L, H, F}, {{}, {"fsdp", "data"}, {"tensor"}});
  expect(layer + "bias/adafactor_v", {L, F}, {{}, {"tensor"}});
}

}  // namespace
}  // namespace smelt::train
