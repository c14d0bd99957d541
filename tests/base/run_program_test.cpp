#include "base/run_program.h"

#include <gtest/gtest.h>

namespace smelt {
namespace {

TEST(RunProgram, ReturnsTheExitStatusAndUsesNoShell) {
  EXPECT_EQ(run_program({"true"}), 0);
  EXPECT_EQ(run_program({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(run_program({"test", "$(false) *", "=", "$(false) *"}), 0);
}

TEST(RunProgram, ReturnsShellStatusesForSignalsAndMissingPrograms) {
  EXPECT_EQ(run_program({"sh", "-c", "kill -TERM $$"}), 128 + 15);
  EXPECT_EQ(run_program({"no-such-program-anywhere"}), 127);
}

TEST(RunProgram, RedirectsStandardOutputToStandardError) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  run_program({"echo", "hello"});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello\n");
}

TEST(RunShell, ReturnsOutputAndExitStatus) {
  const ShellOutput out = run_shell("tr a-z A-Z; exit 3", "some text");
  EXPECT_EQ(out.text, "SOME TEXT");
  EXPECT_EQ(out.status, 3);
  EXPECT_EQ(run_shell("true", std::string(1 << 20, 'x')).status, 0) << "input need not be read";
}

}  // namespace
}  // namespace smelt
