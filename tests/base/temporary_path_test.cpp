// Temporary paths are removed when a signal ends the process.
#include "base/temporary_path.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/exit_codes.h"
#include "base/stop_notice.h"
#include "support/paths.h"

namespace smelt {
namespace {

TEST(TemporaryPathDeathTest, IsRemovedWhenASignalEndsTheProcess) {
  const TempDir dir;
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_directories(dir.file(name) + "/below");
    std::ofstream(dir.file(name) + "/below/file") << "x";
  }
  const auto interrupted = [&] {
    end_at_signals();
    const TemporaryPath a(dir.file("a"));
    {
      const TemporaryPath b(dir.file("b"));
    }
    std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupted(), testing::ExitedWithCode(kStoppedExit), "^\nstopped\n$");
  EXPECT_FALSE(std::filesystem::exists(dir.file("a")));
  EXPECT_TRUE(std::filesystem::exists(dir.file("b") + "/below/file"));
  EXPECT_TRUE(std::filesystem::exists(dir.file("c")));
}

TEST(TemporaryPathDeathTest, SuppressesTheHintToResumeWhenStopped) {
  const TempDir dir;
  std::filesystem::create_directories(dir.file("a"));
  const auto interrupted = [&](bool is_temporary) {
    const StopNotice notice;
    if (is_temporary) {
      const TemporaryPath a(dir.file("a"));
      std::raise(SIGTERM);
    }
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupted(true), testing::ExitedWithCode(kStoppedExit), "^\nstopped\n$");
  EXPECT_EXIT(interrupted(false), testing::ExitedWithCode(kStoppedExit),
              "^\nstopped: run the same command again to resume");
}

}  // namespace
}  // namespace smelt
