// Training with fake int8 quantization gives the same results in all forms of the program.
// tests/compress/fake_quant_test.cpp compares with the quantized folder.
#include "model/tasks/fake_quant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "model/optim/adamw.h"
#include "runs/golden_classify.h"
#include "runs/golden_distill.h"
#include "runs/probe.h"
#include "support/plugins.h"

namespace smelt::model {

using compiler::emit_module;
using compiler::RematPolicy;
namespace {

void expect_same_gradients(const StepGradients& is, const StepGradients& was) {
  EXPECT_NEAR(is.loss, was.loss, kLossTolerance * was.loss);
  ASSERT_EQ(is.of.size(), was.of.size());
  for (const auto& [name, gradient] : was.of) {
    const auto [difference, size] = distance(is.of.at(name), gradient);
    EXPECT_LE(difference, kGradientTolerance * size + 1e-6) << name;
  }
}

class FakeQuantStep : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, FakeQuantStep, testing::Values("bert", "electra"),
                         [](const auto& info) { return info.param; });

TEST_P(FakeQuantStep, DoesNotDependOnScanMicroBatchesAndMeshes) {
  SMELT_OPEN_CPU(client, 2);
  const GoldenClassify golden(GetParam());
  const Task floats = classify_task(golden.settings()), task = fake_quantized(floats);
  const data::Batch batch = golden.batch();
  const StepGradients was = step_gradients(client, task, {}, batch, golden.state());
  const StepGradients plain = step_gradients(client, floats, {}, batch, golden.state());
  EXPECT_GT(std::abs(was.loss - plain.loss), 10 * kLossTolerance * plain.loss);
  EXPECT_NEAR(was.loss, plain.loss, 0.05 * plain.loss);
  TrainingConfig config;
  config.compute = {.layers = Layers::scan, .save = RematPolicy::products};
  config.micro_batches = 2;
  expect_same_gradients(step_gradients(client, task, config, batch, golden.state()), was);
  config.compute.joined_products = true;
  config.micro_batches = 1;
  config.devices = 2;
  for (const char* mesh : {"data=2", "fsdp=2", "tensor=2"}) {
    SCOPED_TRACE(mesh);
    const ShardingPlan placement = placement_for(
        "tpu", 2, Reduction::global, partition_for({.mesh = mesh, .rules = "vocab=none"}, 2));
    expect_same_gradients(step_gradients(client, task, config, batch, golden.state(), placement),
                          was);
  }
}

// The teacher is not quantized.
TEST(FakeQuantTask, DoesNotQuantizeTheTeacher) {
  const GoldenDistill golden("texts");
  const auto rounded = [&](const Task& student) {
    TrainingConfig config;
    config.optimizer = adamw({});
    const StepProgram step = train_program(distilled(student, golden.teacher(), golden.settings()),
                                           config, placement_for("cpu", 1, Reduction::global));
    const std::string text = emit_module(step.program, "step");
    std::size_t count = 0;
    for (auto at = text.find("round_nearest_even"); at != text.npos;
         at = text.find("round_nearest_even", at + 1))
      ++count;
    return count;
  };
  const std::size_t layers = golden.student().tells->sizes.stacks[0].layers;
  EXPECT_EQ(rounded(golden.student()), 0);
  // Per layer: the shared input of q, k and v, three other matmul inputs, and six kernels.
  EXPECT_EQ(rounded(fake_quantized(golden.student())), layers * (4 + 6));
}

}  // namespace
}  // namespace smelt::model
