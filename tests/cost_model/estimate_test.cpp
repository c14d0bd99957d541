// Estimated time of steps and runs.
#include "cost_model/estimate.h"

#include <gtest/gtest.h>

namespace smelt::cost_model {
namespace {

constexpr Estimate kFactor{0.5, 1, 2};

Accelerator of(const char* name) { return find_accelerators("--on", name).front(); }

TEST(StepSeconds, TpuStepIsCyclesPlusExposedCommunication) {
  const Accelerator v3 = of("v3-8");
  // A v3 chip sends 328e9 bytes/s, half of its bandwidth. The all-reduces take 1 s, of which a
  // quarter is asynchronous. The other collectives take 2 s, because the two devices of a chip
  // share its links.
  const double second = 328e9;
  Compiled step;
  step.cycles = 3 * 938.4e6;
  EXPECT_NEAR(step_seconds(step_work(v3, step), kFactor)->likely, 3, 1e-3);
  step.sent = {{.axes = "data", .all_reduce = second, .asynchronous_all_reduce = second / 4},
               {.axes = "fsdp", .other = second}};
  EXPECT_NEAR(communication_seconds(v3, step.sent[0]), 1, 1e-9);
  EXPECT_NEAR(communication_seconds(v3, step.sent[1]), 2, 1e-9);
  const StepWork work = step_work(v3, step);
  const Estimate seconds = *step_seconds(work, kFactor);
  EXPECT_NEAR(seconds.low, 3, 1e-3) << "communication bounds the time from below";
  EXPECT_NEAR(seconds.likely, 3 + 2.75, 1e-3);
  EXPECT_NEAR(seconds.high, 6 + 3, 1e-3);
  EXPECT_NEAR(measured_factor(work, seconds.likely), 1, 1e-6);
  EXPECT_FALSE(step_seconds(step_work(v3, Compiled()), kFactor))
      << "the compiler reported no cycles";
}

TEST(StepSeconds, GpuStepFollowsTheRooflineModel) {
  const Accelerator h100 = of("h100");
  Compiled step;
  step.moved = 3350e9;
  const auto likely = [&](const StepProducts& products) {
    return step_seconds(step_work(h100, step, products), kFactor)->likely;
  };
  EXPECT_NEAR(likely({.flops = 989e12, .of = compiler::DType::bf16}), 2, 1e-9);
  EXPECT_NEAR(likely({.flops = 988e12, .of = compiler::DType::f32}), 3, 1e-9);
  EXPECT_NEAR(likely({.flops = 67e12, .of = compiler::DType::f32, .exact = true}), 2, 1e-9);
  EXPECT_NEAR(
      measured_factor(step_work(h100, step, {.flops = 989e12, .of = compiler::DType::bf16}), 5),
      2.5, 1e-9);
}

TEST(RunSeconds, LongestRunFactorRaisesOnlyTheHighEstimate) {
  const Estimate step{1, 2, 3};
  const RunWork work{.steps = 1000, .save_every = 1000, .checkpoint_bytes = 1};
  const Estimate plain = run_seconds(of("v3-8"), step, work).seconds;
  EXPECT_NEAR(plain.likely, kStartSeconds + 2 * (1000 + kStallSteps), 1e-6);
  EXPECT_NEAR(plain.high, kStartSeconds + 3 * (1000 + kStallSteps), 1e-6);
  const Estimate seen = run_seconds(of("v3-8"), step, work, {}, 5).seconds;
  EXPECT_EQ(seen.low, plain.low);
  EXPECT_EQ(seen.likely, plain.likely);
  EXPECT_NEAR(seen.high, kStartSeconds + 5 * 2 * (1000 + kStallSteps), 1e-6);
}

TEST(RunSeconds, SpotTimeIncludesPreemptions) {
  // A day of steps on four machines with a checkpoint every two hours. Each machine is preempted
  // once; each preemption repeats one hour of steps and takes 600 s to recover.
  const Accelerator v2 = of("v2-32");
  const RunWork work{.steps = 86400, .save_every = 864000, .save_minutes = 120};
  const RunTime time = run_seconds(v2, {1, 1, 1}, work);
  const double day = kStartSeconds + 86400 + 12 * kStallSteps;
  EXPECT_NEAR(time.preemptions, 4 * day / 86400, 1e-9);
  EXPECT_NEAR(time.spot_seconds.low, day, 1e-6);
  EXPECT_NEAR(time.spot_seconds.likely, day + time.preemptions * (3600 + kRecoverySeconds), 1e-6);
  EXPECT_NEAR(time.spot_seconds.high, day + 3 * time.preemptions * (3600 + kRecoverySeconds), 1e-6);
  const Price price{.generation = "v2",
                    .region = "r",
                    .on_demand = 2,
                    .spot = 0.5,
                    .committed = {},
                    .source = "",
                    .date = ""};
  const RunCost cost = run_cost(v2, time, &price);
  EXPECT_NEAR(cost.on_demand->likely, 16 * 2 * day / 3600, 1e-6);
  EXPECT_NEAR(cost.spot->likely, 16 * 0.5 * time.spot_seconds.likely / 3600, 1e-6);
}

}  // namespace
}  // namespace smelt::cost_model
