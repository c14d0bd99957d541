// Cycles from libtpu's schedule: bundles times the iterations of their loops, or the matrix units
// if they take longer.
#include "pjrt/schedule.h"

#include <gtest/gtest.h>

namespace smelt::pjrt {
namespace {

TEST(Schedule, MultipliesBundlesByLoopIterations) {
  // One bundle before the loop, two per iteration of 10, each with an inner loop of three
  // iterations of two bundles, and one after.
  EXPECT_EQ(scheduled_cycles("LB: loop body\n= control target key end\n\n"
                             "     0   :  { %3 = vsyncpa 0 }\n"
                             "   0x1 LB: > { %p0 = scmp.lt.s32.totalorder %s1, 8 }\n"
                             "base_bounds: (128, 8)\n"
                             "   0x2 LB: > > { %s2 = sadd.s32 1, %s1 }\n"
                             "   0x3   :  {}\n"
                             "   0x4   : > > { %p = scmp.ge.s32.totalorder %s2, 3 /* loop exit "
                             "test */ }\n"
                             "   0x5   : > { %p = scmp.ge.s32.totalorder %s1, 10 /* loop exit "
                             "test */ }\n"
                             "   0x6   :  { %9 = vsyncadd 0 }\n"),
            1 + 10 * (2 + 3 * 3) + 1);
}

TEST(Schedule, ConsecutiveLoopsDoNotNest) {
  EXPECT_EQ(
      scheduled_cycles("   0x1 LB: > { %p = scmp.ge.s32.totalorder %s1, 5 /* loop exit test */ }\n"
                       "   0x2 LB: > { %p = scmp.ge.s32.totalorder %s2, 7 /* loop exit test */ }\n"
                       "   0x3   : > { %9 = vnop }\n"),
      5 + 7 * 2);
}

TEST(Schedule, UsesMatrixUnitCyclesIfTheyAreLonger) {
  const std::string f32 =
      "   0x1   :  { %1 = vmatmul.f32.gmra.mxu0 %v1  ;;  %2 = "
      "vmatmul.bf16.gmra.mxu1 %v2 }\n";
  EXPECT_EQ(scheduled_cycles(f32), 16) << "16 rows of bf16";
  EXPECT_EQ(scheduled_cycles(f32 + f32), 32);
  EXPECT_EQ(scheduled_cycles("   0x1   :  { %1 = vmatmul.f32.gmra.mxu0 %v1 }\n"), 8);
}

TEST(Schedule, KernelTakesTheLongerOfScheduleAndMemoryTraffic) {
  const double second = 1 / seconds_of(1, "TPU v5 lite");  // cycles
  StepCycles cycles;
  const auto add = [&](const char* name, double estimated, double runs, double hbm_bytes) {
    InstructionCycles& i = cycles.instructions.emplace_back();
    i.name = name;
    i.cycles = estimated;
    i.runs = runs;
    i.hbm_bytes = hbm_bytes;
  };
  add("a", 900, 3, 0);
  add("same", 300, 1, 0);
  add("wide", 10, 1, 819e9);
  add("unknown", 7, 1, 0);
  add_schedule(cycles, {{"a", 40}, {"wide", 5}}, "TPU v5 lite");
  EXPECT_NEAR(cycles.scheduled, second + 3 * 40 + 40 + 7, 1e-3);
  EXPECT_EQ(cycles.unread, 7);
  EXPECT_EQ(cycles.instructions.front().name, "wide");
  EXPECT_EQ(cycles.instructions[1].scheduled, 120);
}

}  // namespace
}  // namespace smelt::pjrt
