// A step that hangs, and one that crashes, are told by their numbers.
#include "train/watchdog.h"

#include <gtest/gtest.h>

#include <csignal>

namespace smelt {
namespace {

using std::chrono::milliseconds;

TEST(WatchdogDeathTest, AStepThatHangsEndsTheProcess) {
  const auto hang = [] {
    Watchdog watchdog(milliseconds(50), "--hang-minutes");
    watchdog.at(7);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(1),
              "step 7 has not ended after .* minutes.*\n.*; --hang-minutes allows more");
}

TEST(WatchdogDeathTest, ACrashSaysAtWhichStep) {
  const auto crash = [](bool at_work) {
    Watchdog watchdog(milliseconds(0));
    watchdog.at(12);
    if (!at_work) watchdog.rest();
    std::raise(SIGABRT);
  };
  EXPECT_EXIT(crash(true), testing::KilledBySignal(SIGABRT), "crashed during step 12\n  hint: ");
  EXPECT_EXIT(crash(false), testing::KilledBySignal(SIGABRT), "crashed between two steps\n");
}

TEST(Watchdog, StepsThatEndAreLetAlone) {
  Watchdog watchdog(milliseconds(2000));
  for (int step = 0; step < 10; ++step) {
    watchdog.at(step);
    std::this_thread::sleep_for(milliseconds(1));
  }
  watchdog.rest();
  std::this_thread::sleep_for(milliseconds(2500));
}

}  // namespace
}  // namespace smelt
