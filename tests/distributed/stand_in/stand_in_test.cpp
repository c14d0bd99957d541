// The simulated pod behaves like a real one, and training in its processes gives the results of
// training on the devices of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>

#include "base/str.h"
#include "distributed/stand_in/layout.h"
#include "distributed/stand_in/pod_run.h"
#include "support/command.h"
#include "support/plugins.h"

namespace smelt::distributed {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kMember = SMELT_POD_MEMBER;

TEST(PodLayout, MatchesTheDeviceIdsOfAV2Slice) {
  const stand_in::PodLayout v2_32{.processes = 4, .devices_each = 8};
  EXPECT_THAT(v2_32.ids_of(0), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(v2_32.ids_of(1), ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_THAT(v2_32.ids_of(3), ElementsAre(20, 21, 22, 23, 28, 29, 30, 31));
  const stand_in::PodLayout odd{.processes = 3, .devices_each = 1};
  EXPECT_THAT(odd.ids_of(1), ElementsAre(1));
  EXPECT_THAT(odd.ids_of(2), ElementsAre(2));
}

TEST(Pod, ProcessesSeeAllDevicesAndAddressOnlyTheirOwn) {
  REQUIRE_PLUGIN("cpu");
  Pod pod({.processes = 2, .devices_each = 4});
  EXPECT_THAT(pod.run({kMember, "facts"}), Each(0));
  const std::string all = "0@0 1@0 4@0 5@0 2@1 3@1 6@1 7@1 ";
  EXPECT_EQ(pod.said(0), "process 1 of 2\n" + all + "\nown 2 3 6 7\n");
  EXPECT_EQ(pod.said(1), "process 0 of 2\n" + all + "\nown 0 1 4 5\n");
}

TEST(Pod, LaunchesInTheSameOrderComplete) {
  REQUIRE_PLUGIN("cpu");
  Pod pod({.processes = 3, .devices_each = 1});
  EXPECT_THAT(pod.run({kMember, "order", "abcb"}), Each(0));
  for (int process = 0; process < 3; ++process) EXPECT_EQ(pod.said(process), "4\n");
  EXPECT_THAT(pod.run({kMember, "order", "cc"}), Each(0)) << "once more in the same pod";
  EXPECT_EQ(pod.said(2), "4\n");
}

TEST(Pod, LaunchesInDifferentOrderFailWithTheErrorOfLibtpu) {
  REQUIRE_PLUGIN("cpu");
  Pod pod({.processes = 2, .devices_each = 1});
  EXPECT_THAT(pod.run({kMember, "order", "bc", "cb"}), Each(1));
  for (int process = 0; process < 2; ++process)
    EXPECT_THAT(pod.said(process),
                AllOf(HasSubstr("Core halted unexpectedly"),
                      HasSubstr("An unexpected peer shows up in the launch group with a different "
                                "launch id than the current group leader")));
}

// Runs pod_member as one process with the real plugin, and returns its output.
std::string alone(const std::string& arguments) {
  const CommandOutput out = run_command(kMember + " " + arguments);
  EXPECT_EQ(out.status, 0) << out.text;
  return out.text;
}

// Removes the line about the wish of process 1 to stop at one step, which all processes read from
// that step's report.
std::string without_wishes(std::string text) {
  const std::string line = "2 devices wish to stop\n";
  const std::size_t at = text.find(line);
  EXPECT_NE(at, text.npos) << text;
  return at == text.npos ? text : text.erase(at, line.size());
}

std::vector<float> losses_of(const std::string& text) {
  std::vector<float> losses;
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("loss ")) losses.push_back(std::strtof(line.substr(5).data(), nullptr));
  return losses;
}

TEST(PodTraining, ReplicasOnTwoProcessesMatchOneProcessBitForBit) {
  REQUIRE_PLUGIN("cpu");
  const std::string want = alone("train 4 replicas unrolled 3");
  EXPECT_EQ(losses_of(want).size(), 3u);
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run({kMember, "train", "4", "replicas", "unrolled", "3"}), Each(0))
      << pod.said(0);
  for (int process = 0; process < 2; ++process)
    EXPECT_EQ(without_wishes(pod.said(process)), want) << process;
}

class PodMesh : public testing::TestWithParam<const char*> {};

TEST_P(PodMesh, LossesWithTpuSettingsMatchOneProcess) {
  REQUIRE_PLUGIN("cpu");
  const std::string mesh = GetParam();
  const std::vector<float> want = losses_of(alone("train 4 " + mesh + " scan 3"));
  ASSERT_EQ(want.size(), 3u);
  Pod pod({.processes = 2, .devices_each = 2});
  ASSERT_THAT(pod.run({kMember, "train", "4", mesh, "scan", "3"}), Each(0)) << pod.said(0);
  EXPECT_EQ(losses_of(without_wishes(pod.said(0))), losses_of(without_wishes(pod.said(1))))
      << "what both read is one value";
  const std::vector<float> got = losses_of(pod.said(0));
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], 1e-5 * std::abs(want[i])) << i;
}

// Parameters are sharded within a process and across processes; some rows are computed by both.
INSTANTIATE_TEST_SUITE_P(Meshes, PodMesh, testing::Values("data=2,fsdp=2", "fsdp=4", "tensor=4"));

TEST(PodDeath, OtherProcessesKeepWaitingByDefault) {
  REQUIRE_PLUGIN("cpu");
  Pod pod({.processes = 2, .devices_each = 1});
  const std::vector<std::string> command{kMember, "train", "2", "replicas", "unrolled", "3", "1"};
  for (int process = 0; process < 2; ++process) pod.start(process, command);
  EXPECT_EQ(pod.wait(1), 9);
  ::usleep(300000);
  EXPECT_TRUE(pod.is_running(0));
  pod.send(0, SIGKILL);
  EXPECT_EQ(pod.wait(0), 128 + SIGKILL);
  EXPECT_THAT(pod.run({kMember, "order", "b"}), Each(0)) << "and a new pod begins";
}

TEST(PodDeath, OtherProcessesGetAHeartbeatErrorIfConfigured) {
  REQUIRE_PLUGIN("cpu");
  Pod pod({.processes = 2, .devices_each = 1}, {"--on-death", "fail:0"});
  EXPECT_THAT(pod.run({kMember, "train", "2", "replicas", "unrolled", "3", "1"}),
              ElementsAre(1, 9));
  EXPECT_THAT(pod.said(0),
              HasSubstr("SliceBuilder controller missed 3 gRPC heartbeats from task 1"));
}

}  // namespace
}  // namespace smelt::distributed
