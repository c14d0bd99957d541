// Distillation compared with transformers and the losses of the papers (tools/golden_distill.py):
// losses and gradients in all forms of the program, frozen teachers, and mismatched teachers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "checkpoint/storage/lazy_files.h"
#include "execution/train_state/compiled_step.h"
#include "model/train_step/model_flops.h"
#include "runs/golden_distill.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::RematPolicy;
using compiler::Tensor;
namespace {

using testing::HasSubstr;

Optimizer gradient_as_value() {
  Optimizer out;
  out.slots = [](const Parameter&) { return std::vector<Slot>(); };
  out.update = [](const OptimizerStep&, const Parameter&, std::span<const Tensor>,
                  Tensor gradient) { return UpdatedParameter{.value = gradient, .slots = {}}; };
  return out;
}

struct DistilledStep {
  double loss = 0;
  std::map<std::string, double> losses;
  StateValues gradients, held;
};

struct StepForm {
  ComputePolicy compute = {};
  std::int64_t micro_batches = 1;
  int devices = 1;
  std::string mesh = "";
};

DistilledStep distilled_step(const GoldenDistill& golden, const Task& task, const StepForm& form,
                             const std::shared_ptr<const pjrt::Client>& client) {
  TrainingConfig config;
  config.optimizer = gradient_as_value();
  config.clip_norm = 0;
  config.compute = form.compute;
  config.micro_batches = form.micro_batches;
  const data::Batch batch = golden.batch(task.features);
  config.batch_size = batch.rows;
  const bool meshed = !form.mesh.empty();
  const PartitionRules mesh = partition_for(
      {.mesh = meshed ? form.mesh : "auto", .rules = meshed ? "vocab=none" : ""}, form.devices);
  const StepProgram program = train_program(
      task, config,
      placement_for(form.mesh.empty() ? "cpu" : "tpu", form.devices, Reduction::global, mesh));
  execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.tensors("student"), "golden");
  const execution::CompiledStep step(client, program);
  pjrt::Execution execution = step.run(batch, state, 0);
  const auto report = execution.results[0].back().to_host<float>();
  ReportSums sums(program.report);
  sums.add(report);
  DistilledStep out{.loss = sums.figure("loss"), .losses = {}, .gradients = {}, .held = {}};
  for (const MeasuredValue& m : sums.measures()) out.losses[m.name] = m.value;
  state.replace(execution.results);
  out.gradients = values_of(state);
  if (step.held()) out.held = values_of(*step.held());
  return out;
}

void expect_golden(const GoldenDistill& golden, const DistilledStep& got) {
  for (const auto& [name, want] : golden.facts()["losses"].items())
    EXPECT_NEAR(got.losses.at(name), want.get<double>(),
                2 * kLossTolerance * std::abs(want.get<double>()))
        << name;
  const double want = golden.facts()["loss"];
  EXPECT_NEAR(got.loss, want, kLossTolerance * want);
  const io::TensorMap gradients = golden.tensors("grad");
  EXPECT_FALSE(gradients.empty());
  for (const auto& [name, view] : gradients) {
    const auto [difference, size] =
        distance(got.gradients.at(name), io::tensor_values<float>(view));
    EXPECT_LE(difference, kGradientTolerance * size + 1e-6) << name;
  }
}

class DistillGolden : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Cases, DistillGolden,
                         testing::Values("texts", "wide", "several", "numbers", "tokens", "spans",
                                         "words", "answers"),
                         [](const auto& info) { return info.param; });

TEST_P(DistillGolden, LossesAndGradientsMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden(GetParam());
  const DistilledStep got = distilled_step(golden, golden.task(), {}, client);
  expect_golden(golden, got);
  const io::TensorMap teacher = golden.tensors("teacher");
  EXPECT_FALSE(got.held.empty());
  for (const auto& [name, values] : got.held)  // bit-identical
    EXPECT_EQ(values, io::tensor_values<float>(teacher.at(name))) << name;
  for (const auto& [name, gradient] : got.gradients)
    EXPECT_TRUE(golden.tensors("student").contains(name)) << name;
}

class DistillGoldenWithTpuSettings : public DistillGolden {};
INSTANTIATE_TEST_SUITE_P(Cases, DistillGoldenWithTpuSettings,
                         testing::Values("wide", "spans", "words", "answers"),
                         [](const auto& info) { return info.param; });

TEST_P(DistillGoldenWithTpuSettings, LossesAndGradientsInMicroBatchesMatchTheReference) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden(GetParam());
  StepForm form;
  form.compute.layers = Layers::scan;
  form.compute.save = RematPolicy::products;
  form.compute.stored_scores = false;
  form.compute.logits_bytes = 256;  // scores of few words at a time, for LM heads
  form.micro_batches = GetParam() == "answers" ? 3 : 2;
  expect_golden(golden, distilled_step(golden, golden.task(), form, client));
}

// The teacher is sharded like the student.
TEST(DistillGolden, LossesAndGradientsDoNotDependOnTheMesh) {
  SMELT_OPEN_CPU(client, 2);
  for (const auto& [name, mesh, micro_batches] :
       {std::tuple{"texts", "tensor=2", 1}, {"wide", "fsdp=2", 1}, {"words", "data=2", 2}}) {
    SCOPED_TRACE(str(name, " ", mesh));
    const GoldenDistill golden(name);
    expect_golden(
        golden, distilled_step(golden, golden.task(),
                               {.compute = {.layers = Layers::scan, .save = RematPolicy::products},
                                .micro_batches = micro_batches,
                                .devices = 2,
                                .mesh = mesh},
                               client));
  }
}

TEST(DistillGolden, TeacherInBf16GivesNearlyTheSameLosses) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden("texts");
  Distillation d = golden.settings();
  d.precision = "bf16";
  const DistilledStep got =
      distilled_step(golden, distilled(golden.student(), golden.teacher(), d), {}, client);
  const double want = golden.facts()["losses"]["kd_loss"];
  EXPECT_NEAR(got.losses.at("kd_loss"), want, 0.03 * want);
  EXPECT_GT(std::abs(got.losses.at("kd_loss") - want), kLossTolerance * want);
  // The student's own loss is still computed in f32.
  const double own = golden.facts()["losses"]["classification_loss"];
  EXPECT_NEAR(got.losses.at("classification_loss"), own, kLossTolerance * own);
}

// Without a factor for its own loss, a student learns from the teacher alone.
TEST(DistillGolden, FactorZeroOmitsALoss) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden("tokens");
  Distillation d = golden.settings();
  d.ce = 0;
  d.kd = 1;
  const DistilledStep got =
      distilled_step(golden, distilled(golden.student(), golden.teacher(), d), {}, client);
  EXPECT_NEAR(got.loss, golden.facts()["losses"]["kd_loss"].get<double>(), 1e-4);
  EXPECT_TRUE(got.losses.contains("classification_loss"));
}

// A model has nothing to learn from itself.
TEST(DistillGolden, LossIsZeroIfStudentEqualsTeacher) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden("several");
  Teacher teacher = golden.teacher();
  teacher.model.values =
      std::make_shared<const io::LazyTensors>(checkpoint::lazy_tensors(golden.tensors("student")));
  const Task task = distilled(golden.student(), teacher,
                              {.ce = 0, .kd = 1, .hidden = 1, .attention = 1, .cosine = 1});
  const DistilledStep got = distilled_step(golden, task, {}, client);
  EXPECT_LE(std::abs(got.loss), 1e-5);
  for (const auto& [name, gradient] : got.gradients)
    for (const float g : gradient) ASSERT_LE(std::abs(g), 1e-4) << name;
}

// For MFU and plans: a step is one forward and two backward passes of the student plus one forward
// pass of the teacher.
TEST(Distill, CountsTheTeachersFlopsOnce) {
  const GoldenDistill golden("several");
  const double own = training_flops(golden.student());
  const Task task = distilled(golden.student(), golden.teacher(), {});
  EXPECT_DOUBLE_EQ(training_flops(task), own + own / 3);  // the teacher has the student's size
}

TEST(Distill, EvaluationUsesOnlyTheStudent) {
  const GoldenDistill golden("texts");
  const StepProgram program = eval_program(golden.task(), 4, {});
  EXPECT_TRUE(program.held.tensors.empty());
  EXPECT_EQ(program.state.tensors.size(), golden.tensors("student").size());
}

TEST(Distill, PairsLayersByRelativeDepth) {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(layer_pairs("auto", 4, 12), (Pairs{{0, 0}, {1, 3}, {2, 6}, {3, 9}, {4, 12}}));
  EXPECT_EQ(layer_pairs("auto", 3, 4), (Pairs{{0, 0}, {1, 1}, {2, 3}, {3, 4}}));
  EXPECT_EQ(layer_pairs("last", 3, 4), (Pairs{{3, 4}}));
  EXPECT_EQ(layer_pairs("0:0, 2:4", 3, 4), (Pairs{{0, 0}, {2, 4}}));
  EXPECT_THAT(error_of([&] { layer_pairs("0:0,4:4", 3, 4); }),
              HasSubstr("distill.layers: '0:0,4:4': '4' is not a layer of the student, whose "
                        "layers are 0 (embeddings) to 3"));
  EXPECT_THAT(error_of([&] { layer_pairs("1-2", 3, 4); }),
              HasSubstr("'1-2' in '1-2' is not a pair of layers"));
}

TEST(Distill, RejectsAMismatchedTeacher) {
  const GoldenDistill golden("texts");
  const auto refused = [&](Distillation d, const std::function<void(Teacher&)>& change) {
    Teacher teacher = golden.teacher();
    change(teacher);
    return [=, &golden] { (void)distilled(golden.student(), teacher, d); };
  };
  const auto nothing = [](Teacher&) {};
  EXPECT_THAT(
      error_of([&] { refused({}, [](Teacher& t) { t.asked["labels"] = {"a", "c", "b"}; })(); }),
      HasSubstr(R"(teacher has labels ["a","c","b"], the student ["a","b","c"])"));
  EXPECT_THAT(error_of([&] { refused({}, [](Teacher& t) { t.sizes.vocab_size = 30; })(); }),
              HasSubstr("teacher has 30 words, the student 31"));
  EXPECT_THAT(error_of([&] { refused({}, [](Teacher& t) { t.sizes.segments = 1; })(); }),
              HasSubstr("teacher has 1 segment types (type_vocab_size), the student 2"));
  EXPECT_THAT(error_of([&] {
                refused({.attention = 1}, [](Teacher& t) { t.sizes.stacks[0].heads = 4; })();
              }),
              HasSubstr("teacher has 4 heads in its encoder, the student 2"));
  EXPECT_THAT(
      error_of([&] { refused({.cosine = 1}, [](Teacher& t) { t.sizes.stacks[0].width = 24; })(); }),
      HasSubstr("teacher has 24 dimensions of the hidden state of its encoder, the student 16"));
  EXPECT_THAT(error_of([&] { refused({.attention = 1, .layers = "0:0"}, nothing)(); }),
              HasSubstr("distill.layers: 0:0 contains no pair of attention layers"));
  EXPECT_THAT(error_of([&] { refused({.ce = 0, .kd = 0}, nothing)(); }),
              HasSubstr("above 0 unless another loss has a factor"));
  EXPECT_THAT(error_of([&] { refused({.temperature = 0}, nothing)(); }),
              HasSubstr("distill.temperature is 0, must be above 0"));
  EXPECT_THAT(error_of([&] { refused({.precision = "f16"}, nothing)(); }),
              HasSubstr("distill.precision is 'f16'"));
  EXPECT_THAT(
      error_of([&] { (void)distilled(GoldenDistill("words").student(), golden.teacher(), {}); }),
      HasSubstr("teacher was trained for another problem than bert"));
  Task unknown = golden.student();
  unknown.tells.reset();
  EXPECT_THAT(error_of([&] { (void)distilled(unknown, golden.teacher(), {}); }),
              HasSubstr("distillation is not supported for classify"));
  EXPECT_THAT(error_of([&] {
                (void)distilled(GoldenDistill("answers").student(),
                                GoldenDistill("answers").teacher(), {.attention = 1});
              }),
              HasSubstr("distill.attention: a t5 provides no attention scores"));
}

TEST(Distill, RejectsATeacherWithWrongShapes) {
  const GoldenDistill golden("texts");
  Teacher teacher = golden.teacher();
  io::LazyTensors values = *teacher.model.values;
  values.at("output_bias").shape.dims = {4};
  teacher.model.values = std::make_shared<const io::LazyTensors>(values);
  const auto program = [&] {
    TrainingConfig config;
    config.batch_size = 4;
    (void)train_program(distilled(golden.student(), teacher, {}), config, {});
  };
  EXPECT_THAT(error_of([&] { program(); }),
              HasSubstr("teacher: output_bias is f32[4], expected f32[3] by its config"));
  values.erase("output_bias");
  teacher.model.values = std::make_shared<const io::LazyTensors>(values);
  EXPECT_THAT(error_of([&] { program(); }), HasSubstr("teacher: tensor output_bias is missing"));
}

}  // namespace
}  // namespace smelt::model
