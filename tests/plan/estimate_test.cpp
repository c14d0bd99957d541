// How long a step takes by what its compiler counted.
#include "plan/estimate.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

constexpr Estimate kFactor{0.5, 1, 2};

Accelerator of(const char* name) { return find_accelerators("--on", name).front(); }

TEST(StepSeconds, OfATpuAreItsCyclesAndWhatDevicesTellBehindThem) {
  const Accelerator v3 = of("v3-8");
  // Half of 656e9 bytes a second go out of a chip: 1 s of all-reduces, of which a quarter goes
  // beside other work; what is gathered goes to both devices of a chip: 2 s.
  const double second = 328e9;
  Compiled step;
  step.cycles = 3 * 938.4e6;
  EXPECT_NEAR(step_seconds(v3, step, kFactor)->likely, 3, 1e-3);
  step.sent = {{.axes = "data", .all_reduce = second, .asynchronous_all_reduce = second / 4},
               {.axes = "fsdp", .other = second}};
  EXPECT_NEAR(telling_seconds(v3, step.sent[0]), 1, 1e-9);
  EXPECT_NEAR(telling_seconds(v3, step.sent[1]), 2, 1e-9);
  const Estimate seconds = *step_seconds(v3, step, kFactor);
  EXPECT_NEAR(seconds.low, 3, 1e-3) << "nothing is faster than the links";
  EXPECT_NEAR(seconds.likely, 3 + 2.75, 1e-3);
  EXPECT_NEAR(seconds.high, 6 + 3, 1e-3);
  EXPECT_NEAR(measured_factor(v3, step, seconds.likely), 1, 1e-6);
  EXPECT_FALSE(step_seconds(v3, Compiled(), kFactor)) << "a compiler that estimates nothing";
}

TEST(StepSeconds, OfAGpuAreItsRoofline) {
  const Accelerator h100 = of("h100");
  Compiled step;
  step.moved = 3350e9;
  const auto likely = [&](const StepProducts& products) {
    return step_seconds(h100, step, kFactor, products)->likely;
  };
  EXPECT_NEAR(likely({.flops = 989e12, .of = DType::bf16}), 2, 1e-9);
  EXPECT_NEAR(likely({.flops = 988e12, .of = DType::f32}), 3, 1e-9);
  EXPECT_NEAR(likely({.flops = 67e12, .of = DType::f32, .exact = true}), 2, 1e-9);
  EXPECT_NEAR(measured_factor(h100, step, 5, {.flops = 989e12, .of = DType::bf16}), 2.5, 1e-9);
}

}  // namespace
}  // namespace smelt
