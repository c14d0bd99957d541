// Process groups, with the ranks on threads.
#include "train/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "distributed/pod_of_threads.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::train {
namespace {

using testing::Each;
using testing::StrEq;

class ProcessGroupTest : public testing::Test {
 protected:
  // Runs body(together) on three threads, one per rank; returns the error of each.
  std::vector<std::string> run(const std::function<void(const ProcessGroup&)>& body) {
    auto hubs = pod_.connect();
    return pod_.run([&](int rank) { body(process_group_of(*hubs.at(rank), "run/1/")); });
  }

  const CapturedLog log_;
  distributed::PodOfThreads pod_{3};
};

TEST_F(ProcessGroupTest, BroadcastsTheResultOfRankZero) {
  EXPECT_THAT(run([](const ProcessGroup& together) {
                const std::string said =
                    together.broadcast("resume", [&] { return str("step of ", together.rank); });
                EXPECT_EQ(said, "step of 0");
                EXPECT_EQ(together.broadcast("resume/2", [] { return std::string(); }), "");
              }),
              Each(""));
}

TEST_F(ProcessGroupTest, ThrowsTheErrorOfRankZeroOnAllRanks) {
  EXPECT_THAT(
      run([](const ProcessGroup& together) {
        EXPECT_THROW(
            together.broadcast(
                "a", [&]() -> std::string { throw UsageError("train: it is locked", "wait"); }),
            UsageError);
        together.broadcast("b", [&]() -> std::string { throw SystemError("disk: full", "buy"); });
      }),
      Each(StrEq("disk: full\n  hint: buy")));
}

TEST_F(ProcessGroupTest, NamesTheRankThatDiffersWithBothValues) {
  EXPECT_THAT(run([](const ProcessGroup& together) {
                together.require_equal("settings", "train",
                                       {{"data", {{"seed", together.rank / 2}}}}, "start it alike");
              }),
              Each(StrEq("train: data.seed is 0 on host 0, 1 on host 2\n  hint: start it alike")));
}

TEST_F(ProcessGroupTest, RemovesMarkerFilesOfAnAbortedRun) {
  const TempDir dir;
  for (const char* name : {".pod-0123abcd", ".pod-notes"}) io::write_file(dir.file(name), "");
  ProcessGroup().require_one_folder(dir.path());
  EXPECT_EQ(io::list_folder(dir.path()), std::vector<std::string>{".pod-notes"});
  io::write_file(dir.file(".pod-0123abcd"), "");
  EXPECT_THAT(run([&](const ProcessGroup& together) { together.require_one_folder(dir.path()); }),
              Each(""));
  EXPECT_EQ(io::list_folder(dir.path()), std::vector<std::string>{".pod-notes"});
}

TEST_F(ProcessGroupTest, AnyIsTrueIfItIsTrueOnOneRank) {
  EXPECT_THAT(run([](const ProcessGroup& together) {
                EXPECT_TRUE(together.any("end", together.rank == 1));
                EXPECT_FALSE(together.any("end/2", false));
              }),
              Each(""));
}

TEST(SingleProcessGroup, WorksInASingleProcess) {
  const ProcessGroup alone;
  EXPECT_EQ(alone.broadcast("a", [] { return std::string("b"); }), "b");
  alone.require_equal("a", "train", 1, "");
  alone.require_one_folder("/nowhere");
  alone.barrier("a");
}

}  // namespace
}  // namespace smelt::train
