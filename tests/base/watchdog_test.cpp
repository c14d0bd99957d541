// The number of a step that hangs or crashes is reported.
#include "base/watchdog.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

namespace smelt {
namespace {

using std::chrono::milliseconds;

TEST(WatchdogDeathTest, EndsTheProcessIfAStepHangs) {
  const auto hang = [] {
    Watchdog watchdog(milliseconds(50), "--hang-minutes");
    watchdog.at(7);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(1),
              "step 7 has not ended after .* minutes.*\n.*; --hang-minutes allows more");
}

// The hang is reported even while training steps still make progress.
TEST(WatchdogDeathTest, EndsTheProcessIfOtherWorkHangsBesideSteps) {
  const auto hang = [](bool beside_steps) {
    Watchdog watchdog(milliseconds(400));
    const Watchdog::Watch watch(&watchdog, "the evaluation at step 7");
    for (std::int64_t step = 8; beside_steps; ++step) {
      watchdog.at(step);
      std::this_thread::sleep_for(milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  const char* message = "error: train: the evaluation at step 7 has not ended after ";
  EXPECT_EXIT(hang(false), testing::ExitedWithCode(1), message);
  EXPECT_EXIT(hang(true), testing::ExitedWithCode(1), message);
}

// For example by Ctrl-Z, `docker pause` or a scheduler.
TEST(WatchdogDeathTest, DoesNotCountTimeWhileTheProcessIsSuspended) {
  const auto pause = [] {
    Watchdog watchdog(milliseconds(2000));
    watchdog.at(7);
    const ::pid_t other = ::fork();
    if (other == 0) {
      ::kill(::getppid(), SIGSTOP);
      std::this_thread::sleep_for(milliseconds(2500));
      ::kill(::getppid(), SIGCONT);
      std::_Exit(0);
    }
    ::waitpid(other, nullptr, 0);
    std::this_thread::sleep_for(milliseconds(200));
    std::_Exit(7);
  };
  EXPECT_EXIT(pause(), testing::ExitedWithCode(7), "^$");
}

TEST(WatchdogDeathTest, CallsTheGivenFunctionInsteadOfExiting) {
  const auto hang = [] {
    Watchdog watchdog(milliseconds(50), "--hang-minutes", [](const std::string& message) {
      std::cerr << "to all: " << message << "\n";
      std::_Exit(76);
    });
    watchdog.at(7);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(76),
              "to all: train: step 7 has not ended after .*\n  hint: .*--hang-minutes");
}

TEST(WatchdogDeathTest, BlamesTheStoreIfASaveHangs) {
  const auto hang = [] {
    Watchdog watchdog(milliseconds(50), "--hang-minutes");
    const Watchdog::Watch watch(&watchdog, "the save of step 7", WorkOf::store);
    std::this_thread::sleep_for(std::chrono::minutes(1));
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(1),
              "the save of step 7 has not ended after .*: the data's or the checkpoints' store "
              "hangs\n  hint: .*; --hang-minutes allows more");
}

TEST(WatchdogDeathTest, WarnsRepeatedlyAboutASlowCompilationWithoutEndingIt) {
  const auto compile = [] {
    Watchdog watchdog(milliseconds(120));
    {
      const Watchdog::Watch watch(&watchdog, "compiling", WorkOf::compiler);
      std::this_thread::sleep_for(milliseconds(1000));
    }
    std::_Exit(7);
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(7),
              "warning: train: compiling has not ended after 0.002 minutes; it may still finish\n"
              "warning: train: compiling has not ended after 0.004 minutes; it may still finish\n");
}

TEST(Watchdog, AcceptsALimitBeyondTheRangeOfTheClock) {
  Watchdog watchdog(std::chrono::hours(24) * 365 * 2000.0);
  watchdog.at(1);
  std::this_thread::sleep_for(milliseconds(100));
}

TEST(WatchdogDeathTest, ReportsTheStepOfACrash) {
  const auto crash = [](bool at_work) {
    Watchdog watchdog(milliseconds(0));
    watchdog.at(12);
    if (!at_work) watchdog.rest();
    std::raise(SIGABRT);
  };
  EXPECT_EXIT(crash(true), testing::KilledBySignal(SIGABRT), "crashed during step 12\n  hint: ");
  EXPECT_EXIT(crash(false), testing::KilledBySignal(SIGABRT), "crashed between two steps\n");
}

TEST(Watchdog, DoesNothingIfStepsEndInTime) {
  Watchdog watchdog(milliseconds(1000));
  for (int step = 0; step < 10; ++step) {
    watchdog.at(step);
    std::this_thread::sleep_for(milliseconds(1));
  }
  watchdog.rest();
  {
    const Watchdog::Watch watch(&watchdog, "a copy");
  }
  std::this_thread::sleep_for(milliseconds(1200));
}

}  // namespace
}  // namespace smelt
