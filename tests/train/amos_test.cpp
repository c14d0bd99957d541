// Training with Amos: the result does not depend on layers (scan or unrolled), devices and
// micro-batches.
#include "model/optim/amos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/optim/amos_presets.h"
#include "runs/mesh_bert.h"
#include "runs/small_run.h"
#include "runs/state_values.h"
#include "support/error_of.h"

namespace smelt::train {
namespace {

using ::testing::HasSubstr;

constexpr double kSameLoss = 1e-5;   // relative: sums in another order
constexpr double kSameState = 1e-5;  // relative, after the first step

model::Optimizer bert_amos(std::vector<model::NameRule> eta = {},
                           std::vector<model::NameRule> slots = {}) {
  const model::AmosPreset preset = model::amos_preset_for("bert");
  eta.insert(eta.end(), preset.eta.begin(), preset.eta.end());
  slots.insert(slots.end(), preset.slot_shape.begin(), preset.slot_shape.end());
  return model::amos({.eta = {"eta", eta}, .slot_shape = {"slots", slots}});
}

model::TrainingConfig amos_config(std::int64_t devices,
                                  model::Layers layers = model::Layers::unrolled) {
  model::TrainingConfig c = mesh_config(devices);
  c.optimizer = bert_amos({{".*layer_1/output/dense/kernel", "0.3"}});  // for one layer only
  c.clip_norm = 0;
  c.schedule.learning_rate = 0.05;
  c.compute = {.layers = layers,
               .save = layers == model::Layers::scan ? compiler::RematPolicy::products
                                                     : compiler::RematPolicy::all};
  return c;
}

MeshRan run_amos(const std::shared_ptr<const pjrt::Client>& client,
                 const model::TrainingConfig& config, const model::ShardingPlan& placement) {
  return run_mesh_steps(client, mesh_bert(), config, placement);
}

model::ShardingPlan cpu_devices(std::int64_t devices,
                                model::Reduction reduction = model::Reduction::global) {
  return model::placement_for("cpu", devices, reduction);
}

void expect_same_learning(const MeshRan& got, const MeshRan& want) {
  for (std::size_t i = 0; i < kMeshSteps; ++i)
    EXPECT_NEAR(got.losses[i], want.losses[i], kSameLoss * want.losses[i]) << "step " << i;
  expect_same_state(got.first, want.first, kSameState);
}

TEST(AmosTraining, IsTheSameWithScanMicroBatchesAndEightDevices) {
  SMELT_OPEN_CPU(client, 8);
  const MeshRan want = run_amos(client, amos_config(1), cpu_devices(1));
  EXPECT_LT(want.losses.back(), want.losses.front() - 0.1);  // it learns
  EXPECT_TRUE(want.first.contains("bert/encoder/layer_1/output/dense/kernel/amos_b"));
  {
    SCOPED_TRACE("a loop of layers in micro-batches");
    model::TrainingConfig parts = amos_config(1, model::Layers::scan);
    parts.micro_batches = 4;
    expect_same_learning(run_amos(client, parts, cpu_devices(1)), want);
  }
  {
    SCOPED_TRACE("replicas");
    expect_same_learning(run_amos(client, amos_config(8), cpu_devices(8)), want);
  }
}

TEST(AmosTraining, IsTheSameOnMeshesThatShardParametersAndSlots) {
  SMELT_OPEN_CPU(client, 8);
  const MeshRan want = run_amos(client, amos_config(1), cpu_devices(1));
  {
    SCOPED_TRACE("unrolled");
    expect_same_learning(run_amos(client, amos_config(8), mesh_placement("fsdp=8")), want);
  }
  {
    SCOPED_TRACE("a loop of layers, all axes and split slots");
    expect_same_learning(run_amos(client, amos_config(8, model::Layers::scan),
                                  mesh_placement("data=2,fsdp=2,tensor=2", true)),
                         want);
  }
}

TEST(AmosTraining, LearnsWithGradientsSummedOverReplicas) {
  SMELT_OPEN_CPU(client, 8);
  model::TrainingConfig config = amos_config(8);
  config.reduction = model::Reduction::per_replica;
  model::BertTask shallow = mesh_bert();
  shallow.model.num_hidden_layers = 1;
  const MeshRan got =
      run_mesh_steps(client, shallow, config, cpu_devices(8, model::Reduction::per_replica));
  EXPECT_LT(got.losses.back(), got.losses.front() - 0.1);
}

// ---- slots ----

TEST(AmosSlots, AreShardedLikeTheirParameterInSharedDimensions) {
  const model::Task task = model::bert_task(mesh_bert());
  const model::StepProgram program = model::train_program(
      task, amos_config(8, model::Layers::scan), mesh_placement("data=2,fsdp=2,tensor=2", true));
  const auto axes_of = [&](const std::string& name) {
    for (const model::StateTensor& tensor : program.state.tensors)
      if (tensor.name == name) return tensor.sharding.axes;
    return compiler::DimAxes{{"missing"}};
  };
  const std::string kernel = "bert/encoder/layer_*/intermediate/dense/kernel";
  EXPECT_EQ(axes_of(kernel + "/amos_m"), (compiler::DimAxes{{}, {"fsdp", "data"}, {"tensor"}}));
  EXPECT_EQ(axes_of(kernel + "/amos_v"), (compiler::DimAxes{{}, {}, {"tensor"}}));
  EXPECT_EQ(axes_of("bert/encoder/layer_*/intermediate/dense/bias/amos_b"),
            (compiler::DimAxes{{}}));
  EXPECT_EQ(axes_of("bert/embeddings/word_embeddings/amos_v"), (compiler::DimAxes{{"tensor"}, {}}));
  EXPECT_EQ(axes_of("bert/embeddings/LayerNorm/gamma/amos_v"), compiler::DimAxes{});
}

std::int64_t slot_elements(const model::BertTask& task, const model::Optimizer& optimizer) {
  model::TrainingConfig config;
  config.batch_size = 1;
  config.optimizer = optimizer;
  const model::StepProgram program =
      model::train_program(model::bert_task(task), config, cpu_devices(1));
  std::int64_t sum = 0;
  for (std::size_t i = program.state.values; i < program.state.tensors.size(); ++i)
    if (program.state.tensors[i].saved) sum += program.state.tensors[i].shape.elements();
  return sum;
}

TEST(AmosSlots, BertBaseSlotsNeedHalfTheMemoryOfAdamW) {
  model::BertTask base;  // the configuration's defaults
  base.model.vocab_size = 30522;
  base.model.type_vocab_size = 2;
  const std::int64_t of_amos = slot_elements(base, bert_amos()),
                     of_adamw = slot_elements(base, model::adamw({}));
  EXPECT_EQ(of_adamw, 2 * 110106428);
  EXPECT_LE(of_amos, 0.51 * static_cast<double>(of_adamw));
  RecordProperty("amos", str(of_amos));
}

// ---- runs ----

class AmosRun : public SmallRun {
 protected:
  TrainJob amos_job(const std::string& model, model::Layers layers,
                    const model::Optimizer& optimizer) const {
    TrainJob out = job(model, 10);
    model::BertTask deep = bert();
    deep.model.num_hidden_layers = 2;
    out.task = model::bert_task(deep);
    out.config.optimizer = optimizer;
    out.config.compute.layers = layers;
    return out;
  }
};

TEST_F(AmosRun, ResumesWithScanInsteadOfUnrolledLayersAndBack) {
  const TrainSummary want = train(amos_job("unrolled", model::Layers::unrolled, bert_amos()));
  const checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(dir_.file("unrolled"), 5);
  const auto shape = [&](const char* name) { return checkpoint.tensors.at(name).shape.dims; };
  EXPECT_EQ(shape("bert/encoder/layer_1/output/dense/kernel/amos_v"), (compiler::Dims{1, 16}));
  EXPECT_EQ(shape("bert/encoder/layer_1/output/dense/kernel/amos_m"), (compiler::Dims{32, 16}));
  EXPECT_EQ(shape("bert/encoder/layer_1/output/dense/bias/amos_b"), compiler::Dims{});
  cut_back(dir_.file("unrolled"), dir_.file("scan"), 5);
  const TrainSummary got = train(amos_job("scan", model::Layers::scan, bert_amos()));
  EXPECT_EQ(got.first_step, 5);
  EXPECT_NEAR(got.last.at("loss"), want.last.at("loss"), kSameLoss * want.last.at("loss"));
}

TEST_F(AmosRun, RequiresTheSameRulesAndRejectsRulesThatDoNotFit) {
  const auto refusal = [&](const model::Optimizer& optimizer,
                           model::Layers layers = model::Layers::unrolled) {
    return error_of<UsageError>([&] {
      TrainJob wrong = amos_job("model", layers, optimizer);
      wrong.config.schedule.total_steps = 0;
      train(wrong);
    });
  };
  EXPECT_EQ(refusal(model::amos({.eta = {"train.optimizer.eta_rules", {{".*/kernel", "1"}}},
                                 .slot_shape = {"train.optimizer.slot_rules", {{".*", "()"}}}})),
            "train.optimizer.eta_rules: no rule matches the parameter "
            "bert/embeddings/word_embeddings of shape "
            "[345,16]\n  hint: add a rule for it, or end with a rule .* = …");
  EXPECT_THAT(refusal(bert_amos({{".*/word_embeddings", "1 - 1"}})),
              HasSubstr("eta: eta of bert/embeddings/word_embeddings is 0, must be above 0"));
  EXPECT_THAT(refusal(bert_amos({{".*/word_embeddings", "SHAPE"}})),
              HasSubstr("eta of bert/embeddings/word_embeddings is ("));
  EXPECT_THAT(refusal(bert_amos({}, {{".*/query/kernel", "(2, SHAPE[1])"}})),
              HasSubstr("slots: the slot shape of bert/encoder/layer_0/attention/self/query/"
                        "kernel with shape [16,16] is (2, 16)\n  hint: use (), or a tuple of its "
                        "dimensions or 1"));
  EXPECT_THAT(refusal(bert_amos({}, {{".*/query/kernel", "1"}})), HasSubstr("[16,16] is 1"));
  EXPECT_THAT(
      refusal(bert_amos({}, {{".*layer_1/output/dense/kernel", "()"}}), model::Layers::scan),
      HasSubstr("the slots of bert/encoder/layer_0/output/dense/kernel have shape [1,16], those "
                "of bert/encoder/layer_1/output/dense/kernel []\n  hint: use one shape for "
                "all layers, or set train.memory.layers to unrolled"));
  EXPECT_EQ(refusal(bert_amos()), "no error");
  EXPECT_THAT(refusal(bert_amos({{".*/gamma", "0.5"}})),
              HasSubstr("was made with train.optimizer.eta_rules"));
  EXPECT_THAT(refusal(model::adamw({})), HasSubstr("was made with train.optimizer.type \"amos\""));
}

}  // namespace
}  // namespace smelt::train
