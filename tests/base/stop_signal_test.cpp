// Which signals ask work to stop, and which end the process.
#include "base/stop_signal.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <thread>

namespace smelt {
namespace {

constexpr int kAsked = 7;

void raise_after(std::chrono::milliseconds time, int signal) {
  std::this_thread::sleep_for(time);
  std::raise(signal);
}

// A shutdown sends SIGTERM and SIGHUP, a closed terminal SIGHUP twice, `timeout` SIGTERM twice.
TEST(StopSignalDeathTest, TwoSignalsWithinASecondAreOneRequest) {
  const auto both = [](int first, int second) {
    const StopSignal stop("it stops\n");
    std::raise(first);
    std::raise(second);
    std::_Exit(StopSignal::raised() ? kAsked : 1);
  };
  for (const auto& [first, second] :
       {std::pair(SIGTERM, SIGHUP), std::pair(SIGHUP, SIGTERM), std::pair(SIGHUP, SIGHUP),
        std::pair(SIGTERM, SIGINT), std::pair(SIGTERM, SIGTERM)})
    EXPECT_EXIT(both(first, second), testing::ExitedWithCode(kAsked), "^it stops\n$")
        << first << " " << second;
}

TEST(StopSignalDeathTest, ASecondSignalAfterASecondEndsTheProcess) {
  const auto later = [] {
    const StopSignal stop("");
    std::raise(SIGTERM);
    raise_after(std::chrono::milliseconds(1100), SIGINT);
    std::_Exit(kAsked);
  };
  EXPECT_EXIT(later(), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalDeathTest, SighupDoesNotCountAsASecondRequest) {
  const auto hang_up = [] {
    const StopSignal stop("");
    std::raise(SIGHUP);
    raise_after(std::chrono::milliseconds(1100), SIGHUP);
    std::raise(SIGTERM);
    std::_Exit(kAsked);
  };
  EXPECT_EXIT(hang_up(), testing::ExitedWithCode(kAsked), "");
}

TEST(StopSignal, ForgetsSignalsRaisedBeforeItsConstruction) {
  {
    const StopSignal stop("");
    std::raise(SIGTERM);
    EXPECT_TRUE(StopSignal::raised());
    EXPECT_EQ(StopSignal::number(), SIGTERM);
  }
  const StopSignal stop("");
  EXPECT_FALSE(StopSignal::raised());
}

}  // namespace
}  // namespace smelt
