// Diagnosis of a non-finite step in a run with a teacher.
#include "train/bad_batch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "runs/golden_distill.h"
#include "support/plugins.h"

namespace smelt::train {
namespace {

TEST(GradientReport, ReusesTheTeacherThatIsOnTheDevices) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenDistill golden("texts");
  model::Teacher teacher = golden.teacher();
  std::atomic<std::size_t> reads = 0;
  io::LazyTensors counted;
  for (const auto& [name, tensor] : *teacher.model.values)
    counted.emplace(name, io::LazyTensor{tensor.shape, [&reads, tensor] {
                                           ++reads;
                                           return tensor.read();
                                         }});
  teacher.model.values = std::make_shared<const io::LazyTensors>(counted);
  const model::Task task = model::distilled(golden.student(), teacher, golden.settings());
  BadBatch bad{.step = 1, .argument = 0, .batch = golden.batch(task.features)};
  model::TrainingConfig config;
  config.batch_size = bad.batch.rows;
  const model::StepProgram program = model::gradient_program(task, config, {});
  const execution::CompiledStep step(client, program);
  EXPECT_GT(reads, 0);
  const std::size_t once = reads;
  const execution::ModelState state = execution::ModelState::restore(
      *client, program.placement, program.state, golden.tensors("student"), "golden");
  const GradientReport report = gradient_report(client, program, bad, state, step.held());
  EXPECT_EQ(reads, once);
  EXPECT_GT(report.norm, 0);
  EXPECT_EQ(report.norm, gradient_report(client, program, bad, state).norm);
  EXPECT_EQ(reads, 2 * once);
}

}  // namespace
}  // namespace smelt::train
