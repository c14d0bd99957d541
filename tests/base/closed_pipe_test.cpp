// A process continues if nobody reads its output any more.
#include "base/closed_pipe.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/run_program.h"

namespace smelt {
namespace {

// Replaces standard output by a pipe and closes its other end.
void lose_reader() {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0 || ::dup2(ends[1], STDOUT_FILENO) < 0) std::_Exit(1);
  if (has_outlived_output_reader()) std::_Exit(2);
  ::close(ends[0]);
}

TEST(ClosedPipeDeathTest, WriteFailsWithEpipeAfterOutliveOutputReader) {
  const auto write_on = [] {
    outlive_output_reader();
    lose_reader();
    if (::write(STDOUT_FILENO, "x", 1) >= 0 || errno != EPIPE) std::_Exit(3);
    std::_Exit(has_outlived_output_reader() ? 7 : 4);
  };
  EXPECT_EXIT(write_on(), testing::ExitedWithCode(7), "");
}

TEST(ClosedPipeDeathTest, SigpipeEndsTheProcessByDefault) {
  const auto write_on = [] {
    lose_reader();
    if (has_outlived_output_reader()) std::_Exit(3);
    (void)!::write(STDOUT_FILENO, "x", 1);
  };
  EXPECT_EXIT(write_on(), testing::KilledBySignal(SIGPIPE), "");
}

TEST(ClosedPipeDeathTest, ChildProcessesKeepTheDefaultSigpipeAction) {
  const auto start = [] {
    outlive_output_reader();
    std::_Exit(run_program({"sh", "-c", "kill -s PIPE $$"}));
  };
  EXPECT_EXIT(start(), testing::ExitedWithCode(128 + SIGPIPE), "");
}

}  // namespace
}  // namespace smelt
