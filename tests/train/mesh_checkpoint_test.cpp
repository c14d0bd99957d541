// A run on a mesh resumes and is evaluated on any other mesh, and computes statistics of its state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluation/tracking/run_record.h"
#include "execution/inference/fill_mask.h"
#include "execution/train_state/shards.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "model/nn/state_names.h"
#include "model/train_step/program.h"
#include "runs/small_run.h"
#include "runs/state_values.h"
#include "support/error_of.h"
#include "train/bad_batch.h"
#include "train/job_program.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;

constexpr double kSameRun = 1e-5;  // relative: the order of sums depends on the devices

class MeshRun : public SmallRun {
 protected:
  static model::BertTask split_bert() {
    model::BertTask task = bert();
    task.model.vocab_size = (task.model.vocab_size + 7) / 8 * 8;
    task.model.hidden_size = 32;
    task.model.num_attention_heads = 8;
    task.model.intermediate_size = 64;
    return task;
  }
  static model::Task split_task() { return model::bert_task(split_bert()); }

  // Returns a job on eight devices, or on one without a mesh.
  TrainJob mesh_job(const std::string& model, const model::MeshChoice& mesh,
                    std::int64_t steps = 10) const {
    TrainJob out = job(model, steps);
    out.task = split_task();
    out.on.mesh = mesh;
    out.on.devices = mesh.mesh == "auto" ? 1 : 8;
    return out;
  }

  std::string manifest(const std::string& model, std::int64_t step) const {
    return io::read_file(dir_.file(str(model, "/checkpoint-", step, "/manifest.json")));
  }
  // Returns the names and shapes of a checkpoint's tensors.
  std::map<std::string, compiler::Shape> on_disk(const std::string& model,
                                                 std::int64_t step) const {
    std::map<std::string, compiler::Shape> out;
    const checkpoint::Checkpoint checkpoint = checkpoint::load_checkpoint(dir_.file(model), step);
    for (const auto& [name, view] : checkpoint.tensors) out[name] = view.shape;
    return out;
  }
};

const model::MeshChoice kNone{};
const model::MeshChoice kAll{.mesh = "data=2,fsdp=2,tensor=2"};
const model::MeshChoice kSlots{.mesh = "data=2,fsdp=4", .shard_optimizer_state = true};

void expect_same_end(const TrainSummary& got, const TrainSummary& want) {
  for (const char* figure : {"loss", "gradient_norm", "masked_lm_loss", "next_sentence_loss"})
    EXPECT_NEAR(got.last.at(figure), want.last.at(figure), kSameRun * want.last.at(figure))
        << figure;
}

TEST_F(MeshRun, ResumesOnAnotherMeshAndOnOneDevice) {
  const TrainSummary want = train(mesh_job("one", kNone, 20));
  const auto names = on_disk("one", 20);
  EXPECT_TRUE(names.contains("bert/encoder/layer_0/output/dense/kernel/adam_m"));
  const std::vector<std::tuple<std::string, std::string, model::MeshChoice>> ways{
      {"one", "all", kAll}, {"all", "slots", kSlots}, {"slots", "whole", kNone}};
  std::int64_t step = 0;
  for (const auto& [from, to, mesh] : ways) {
    SCOPED_TRACE(str("from ", from, " under ", mesh.mesh));
    step += 5;
    cut_back(dir_.file(from), dir_.file(to), step);
    const TrainSummary resumed = train(mesh_job(to, mesh, 20));
    EXPECT_EQ(resumed.first_step, step);
    expect_same_end(resumed, want);
    EXPECT_EQ(on_disk(to, 20), names);
    EXPECT_THAT(manifest(to, 20), HasSubstr(str("smelt checkpoint ", to == "whole" ? 1 : 2)));
  }
}

TEST_F(MeshRun, EvaluatesOnAMesh) {
  train(mesh_job("one", kNone, 0));
  execution::EvaluateJob job = evaluation("one");
  job.task = split_task();
  const execution::Evaluation one = execution::evaluate(job);
  job.on.devices = 8;
  for (const char* mesh : {"auto", "data=2,fsdp=2,tensor=2", "tensor=8"}) {
    SCOPED_TRACE(mesh);
    job.on.mesh.mesh = mesh;
    const execution::Evaluation got = execution::evaluate(job);
    EXPECT_EQ(got.examples, one.examples);
    EXPECT_NEAR(got.loss, one.loss, kSameRun * one.loss);
    for (const model::MeasuredValue& m : one.measures)
      EXPECT_NEAR(got.measure(m.name).value, m.value, kSameRun * m.value) << m.name;
  }
}

execution::FillMaskJob filling(const model::BertConfig& model) {
  execution::FillMaskJob job;
  job.guesses = [model](std::int64_t S, std::int64_t P, std::int64_t k) {
    return model::bert_mask_guesses(model, S, P, k);
  };
  job.max_tokens = model.max_position_embeddings;
  job.vocab_size = model.vocab_size;
  return job;
}

// Scales, filled masks and histograms of a sharded state are those of the whole tensors in its
// checkpoint, which is shared with that in best/.
TEST_F(MeshRun, ComputesScalesSamplesAndHistogramsFromSlices) {
  const text::BertTokenizer tokenizer(text::Vocabulary::load(vocab()), {.lower_case = true});
  const std::vector<std::string> texts{"the [MASK] of [MASK]"};
  const execution::FillMaskJob fill = filling(split_bert().model);
  TrainJob run = mesh_job("m", kAll, 2);
  run.checkpoint.save_interval_steps = run.check_every = 2;
  run.config.ema_decay = 0.5;
  run.validation = {.data = run.data, .batch_size = 8, .steps = 1, .averages = true};
  run.checkpoint.best_metric = "masked_lm_loss";
  run.track.histograms_every = 2;
  run.track.gradient_histograms = true;
  model::ShardingPlan sampled_over;
  run.track.sampler = [&](std::shared_ptr<const pjrt::Client> client,
                          const model::ShardingPlan& placement) {
    sampled_over = placement;
    return std::make_unique<const execution::MaskSampler>(std::move(client), fill, tokenizer, texts,
                                                          placement);
  };
  std::vector<execution::ParameterScale> scales;
  run.checked = [&](const TrainCheck& check) { scales = check.parameters; };
  train(run);
  const auto values = state("m", 2);
  EXPECT_EQ(state("m/best", 2), values);
  ASSERT_GT(scales.size(), 20u);
  for (const execution::ParameterScale& p : scales)
    EXPECT_EQ(p.rms, execution::root_mean_square(std::span<const float>(values.at(p.name))))
        << p.name;
  const evaluation::RunRecord told = evaluation::read_run(dir_.file("m"));
  ASSERT_EQ(told.filled.size(), 1u);
  // Each device holds only a part of the word embeddings that the mesh shards.
  const model::StepProgram asked =
      model::predict_program(fill.guesses(8, 2, 5), 8, {}, sampled_over);
  EXPECT_EQ(asked.placement.devices, run.on.devices);
  EXPECT_TRUE(std::ranges::any_of(asked.state.tensors, [&](const model::StateTensor& tensor) {
    return execution::part_shape(asked.placement.partition.mesh, tensor.sharding, tensor.shape) !=
           tensor.shape;
  }));
  auto saved = checkpoint::load_latest_sliced_checkpoint(dir_.file("m"));
  EXPECT_TRUE(model::put_averages_in_place(saved->tensors));
  execution::MaskFiller filler(
      pjrt::open_device("cpu", 1), fill, tokenizer,
      {std::make_shared<const checkpoint::SlicedTensors>(saved->tensors), "m"});
  const execution::FilledText want = filler.fill(texts).front();
  const evaluation::Record& masks = told.filled.front()["texts"][0]["masks"];
  ASSERT_EQ(masks.size(), 2u);
  for (std::size_t mask = 0; mask < 2; ++mask)
    for (std::size_t k = 0; k < want.masks[mask].size(); ++k)
      EXPECT_EQ(masks[mask][k][0], want.masks[mask][k].token);
  std::string events;
  for (const std::string& name : io::list_folder(dir_.file("m/train")))
    events += io::read_file(dir_.file("m/train/" + name));
  for (const char* kind : {"weights", "updates", "gradients"})
    EXPECT_THAT(events, HasSubstr(str(kind, "/bert/pooler/dense/kernel")));
}

TEST_F(MeshRun, SavesTheBatchOfABadStepWithItsSlices) {
  TrainJob run = mesh_job("m", kAll, 4);
  run.config.clip_norm = 0;
  run.config.schedule.learning_rate = 1e30;
  run.config.schedule.warmup_steps = 0;
  run.checkpoint.save_interval_steps = 100;
  const std::string said = error_of([&] { train(run); }), folder = newest_bad_batch(run.model_dir);
  EXPECT_THAT(said, HasSubstr("its batch and the state before it are in " + folder));
  EXPECT_THAT(io::read_file(io::join_path(folder, "checkpoint-1/manifest.json")),
              HasSubstr("smelt checkpoint 2"));
  const GradientReport report = replay(run, folder);
  EXPECT_FALSE(std::isfinite(report.loss) && std::isfinite(report.norm));
}

// ---- rejected combinations ----

TEST_F(MeshRun, RejectsMeshesThatDoNotDivideTheModelOrBatch) {
  const auto refusal = [&](const std::function<void(TrainJob&)>& change) {
    TrainJob wrong = mesh_job("wrong", kAll);
    change(wrong);
    return error_of<UsageError>([&] { train(wrong); });
  };
  EXPECT_EQ(refusal([](auto& j) {
              model::BertTask odd = bert();
              odd.model.vocab_size = 8 * 1000 + 1;
              j.task = model::bert_task(odd);
            }),
            "mesh: dimension 0 ('vocab') of bert/embeddings/word_embeddings is 8001, which 2 "
            "devices of axis 'tensor' do not divide\n"
            "  hint: choose another mesh, or set the rule vocab=none to replicate it");
  EXPECT_THAT(refusal([](auto& j) {
                model::BertTask wide = bert();
                wide.model.hidden_size = 20;
                j.task = model::bert_task(wide);
                j.on.mesh = kSlots;
              }),
              HasSubstr("mesh: dimension 1 ('embed') of bert/embeddings/word_embeddings is 20, "
                        "which 8 devices of axis 'fsdp', 'data' do not divide"));
  EXPECT_THAT(refusal([](auto& j) {
                model::BertTask narrow = bert();
                narrow.model.intermediate_size = 36;
                j.task = model::bert_task(narrow);
                j.on.mesh = {.mesh = "tensor=8", .rules = "vocab=none,heads=none"};
              }),
              HasSubstr("mesh: dimension 1 ('mlp') of "
                        "bert/encoder/layer_0/intermediate/dense/kernel is 36, which 8 devices of "
                        "axis 'tensor' do not divide"));
  EXPECT_THAT(refusal([](auto& j) {
                j.task = model::bert_task(bert());  // two heads
                j.on.mesh = {.mesh = "tensor=8", .rules = "vocab=none"};
              }),
              HasSubstr("('heads') of bert/encoder/layer_0/attention/self/query/kernel is 2, "
                        "which 8 devices of axis 'tensor' do not divide"));
  EXPECT_THAT(refusal([](auto& j) { j.on.mesh = {.mesh = "fsdp=8", .rules = "mlp=fsdp"}; }),
              HasSubstr("mesh: axis 'fsdp' splits two dimensions of "
                        "bert/encoder/layer_0/intermediate/dense/kernel\n"
                        "  hint: set the rule mlp=none so that it splits only one"));
  EXPECT_THAT(refusal([](auto& j) { j.config.micro_batches = 4; }),
              HasSubstr("a batch of 8 examples over 4 devices, 2 each, does not divide into 4 "
                        "micro-batches\n  hint: choose a number of micro-batches that divides 2"));
  EXPECT_THAT(refusal([](auto& j) { j.config.batch_size = 6; }),
              HasSubstr("a batch of 6 examples does not divide over 4 devices"));
  EXPECT_THAT(
      refusal([](auto& j) { j.on.mesh.mesh = "data=3,fsdp=2"; }),
      HasSubstr("train.parallelism.mesh 'data=3,fsdp=2' has 6 devices, but train.devices is 8"));
  EXPECT_THAT(
      refusal([](auto& j) { j.config.reduction = model::Reduction::per_replica; }),
      HasSubstr("reduction per_replica cannot be combined with a mesh that splits parameters"));
}

// A model without dimension names is not sharded.
TEST_F(MeshRun, ReplicatesAModelWithoutDimensionNames) {
  TrainJob plain = mesh_job("plain", {.mesh = "fsdp=8", .shard_optimizer_state = true});
  plain.task.dim_names = {};
  const model::StepProgram program =
      model::train_program(plain.task, plain.config,
                           model::placement_for("cpu", 8, model::Reduction::global,
                                                model::partition_for(plain.on.mesh, 8)));
  for (const model::StateTensor& tensor : program.state.tensors)
    for (const auto& axes : tensor.sharding.axes) EXPECT_TRUE(axes.empty()) << tensor.name;
  expect_same_end(train(plain), train(mesh_job("one", kNone)));
}

}  // namespace
}  // namespace smelt::train
