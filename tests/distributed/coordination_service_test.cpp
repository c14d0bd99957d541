#include "distributed/coordination_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "base/clock.h"
#include "base/error.h"
#include "distributed/pod_of_threads.h"
#include "support/captured_log.h"
#include "support/error_of.h"

namespace smelt::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Waits until the server knows, from a heartbeat, that a rank's current activity is `doing`.
void wait_until_known(CoordinationService& hub, const std::string& doing) {
  std::string error;
  for (int i = 0; i < 1000 && error.find(doing) == error.npos; ++i)
    error = error_of<SystemError>(
        [&] { hub.gather(str("known/", doing, "/", i), "", milliseconds(20)); });
  ASSERT_THAT(error, HasSubstr(doing));
}

TEST(CoordinationService, GatherReturnsTheValuesOfAllRanksInOrder) {
  PodOfThreads pod(3);
  const auto hubs = pod.connect({{"smelt", "0.1.0"}});
  const auto errors = pod.run([&](int rank) {
    CoordinationService& hub = *hubs[static_cast<std::size_t>(rank)];
    EXPECT_EQ(hub.rank(), rank);
    EXPECT_EQ(hub.size(), 3);
    const std::string large(static_cast<std::size_t>(rank) * 300'000, 'x');
    EXPECT_THAT(hub.gather("resume", large, seconds(20)),
                ElementsAre("", std::string(300'000, 'x'), std::string(600'000, 'x')));
    hub.barrier("barrier", seconds(20));
    EXPECT_EQ(hub.broadcast("name", str("of ", rank), seconds(20), 1), "of 1");
    hub.require_equal("agree", "the step", "8120", seconds(20));
    hub.bye();
  });
  EXPECT_THAT(errors, Each(""));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(pod.ends(rank).empty());
}

TEST(CoordinationService, GathersOfDifferentKeysDoNotWaitForEachOther) {
  PodOfThreads pod(2);
  const auto hubs = pod.connect();
  // The ranks begin with different keys: if one gather blocked the other, this would deadlock.
  auto first =
      std::async(std::launch::async, [&] { return hubs[0]->gather("a", "0", seconds(20)); });
  auto second =
      std::async(std::launch::async, [&] { return hubs[1]->gather("b", "1", seconds(20)); });
  EXPECT_THAT(hubs[1]->gather("a", "1", seconds(20)), ElementsAre("0", "1"));
  EXPECT_THAT(hubs[0]->gather("b", "0", seconds(20)), ElementsAre("0", "1"));
  EXPECT_THAT(first.get(), ElementsAre("0", "1"));
  EXPECT_THAT(second.get(), ElementsAre("0", "1"));
}

TEST(CoordinationService, GatherTimeoutNamesTheMissingHostsOnAllRanks) {
  PodOfThreads pod(3);
  const auto hubs = pod.connect();
  hubs[2]->beat("input of step 7");
  wait_until_known(*hubs[0], "input of step 7");
  const auto errors = pod.run([&](int rank) {
    if (rank == 2) return;
    hubs[static_cast<std::size_t>(rank)]->gather("save/7/begin", "",
                                                 milliseconds(rank == 0 ? 1000 : 20'000));
  });
  const auto names =
      AllOf(HasSubstr("gather 'save/7/begin': timed out after 1.0 s, missing: host 2 ("),
            HasSubstr(str("pid ", ::getpid())), HasSubstr("at input of step 7"));
  EXPECT_THAT(errors, ElementsAre(names, names, ""));
  // A rank that comes late gets the same error, and the pod still works.
  EXPECT_THAT(error_of<LostPeer>([&] { hubs[2]->gather("save/7/begin", "", seconds(20)); }), names);
  EXPECT_THAT(pod.run([&](int rank) {
    hubs[static_cast<std::size_t>(rank)]->barrier("save/8/begin", seconds(20));
  }),
              Each(""));
}

TEST(CoordinationService, AgreeNamesDifferingValuesOnAllRanks) {
  PodOfThreads pod(3);
  const auto hubs = pod.connect();
  const auto errors = pod.run([&](int rank) {
    hubs[static_cast<std::size_t>(rank)]->require_equal(
        "data", "the data's fingerprint", rank == 1 ? "5f" : "a0", seconds(20), "copy it");
  });
  const auto names =
      AllOf(HasSubstr("pod: the data's fingerprint must be equal on all hosts: a0 on host 0 ("),
            HasSubstr(", 5f on host 1 ("), HasSubstr("hint: copy it"));
  EXPECT_THAT(errors, Each(names));
}

TEST(CoordinationService, PutStoresAKeyOnceAndGetWaitsForIt) {
  PodOfThreads pod(2);
  const auto hubs = pod.connect();
  EXPECT_EQ(hubs[0]->try_get("cuda:topology"), std::nullopt);
  EXPECT_EQ(hubs[0]->get("cuda:topology", milliseconds(50)), std::nullopt);
  auto waits =
      std::async(std::launch::async, [&] { return hubs[1]->get("cuda:topology", seconds(20)); });
  EXPECT_TRUE(hubs[0]->put("cuda:topology", std::string("\0four", 5)));
  EXPECT_EQ(waits.get(), std::string("\0four", 5));
  EXPECT_FALSE(hubs[1]->put("cuda:topology", "other"));
  EXPECT_EQ(hubs[1]->try_get("cuda:topology"), std::string("\0four", 5));
}

TEST(CoordinationService, LostProcessIsNamedOnAllRanks) {
  PodOfThreads pod(4);
  auto hubs = pod.connect();
  hubs[2]->beat("step 8120");
  wait_until_known(*hubs[0], "step 8120");
  const std::string name = hubs[0]->name_of(2);
  auto errors = std::async(std::launch::async, [&] {
    return pod.run([&](int rank) {
      if (rank != 2) hubs[static_cast<std::size_t>(rank)]->barrier("never", seconds(60));
    });
  });
  hubs[2].reset();  // without bye()
  const std::string text = str("pod: ", name, " is gone at step 8120: its connection closed");
  EXPECT_THAT(errors.get(), ElementsAre(text, text, "", text));
  for (const int rank : {0, 1, 3}) {
    ASSERT_EQ(pod.ends(rank).size(), 1u);
    EXPECT_EQ(pod.ends(rank)[0].text, text);
    EXPECT_EQ(pod.ends(rank)[0].exit_code, 76);
  }
  EXPECT_EQ(error_of<SystemError>([&] { hubs[1]->barrier("later", seconds(60)); }), text);
}

TEST(CoordinationService, LossOfRank0IsReportedOnAllRanks) {
  PodOfThreads pod(3);
  auto hubs = pod.connect();
  const std::string text = str("pod: ", hubs[1]->name_of(0), " is gone: its connection closed");
  hubs[0].reset();
  EXPECT_THAT(pod.run([&](int rank) {
    if (rank > 0) hubs[static_cast<std::size_t>(rank)]->barrier("never", seconds(60));
  }),
              ElementsAre("", text, text));
}

TEST(CoordinationService, AbortReportsItsReasonOnAllOtherRanks) {
  PodOfThreads pod(3);
  const auto hubs = pod.connect();
  hubs[1]->abort("data.tfrecord: record 5 is damaged", 2);
  const std::string text =
      str("pod: ", hubs[0]->name_of(1), " ends the run: data.tfrecord: record 5 is damaged");
  EXPECT_EQ(error_of<SystemError>([&] { hubs[0]->barrier("x", seconds(60)); }), text);
  EXPECT_EQ(error_of<SystemError>([&] { hubs[2]->barrier("x", seconds(60)); }), text);
  EXPECT_TRUE(pod.ends(1).empty());  // rank 1 ends with its own error
  for (const int rank : {0, 2}) {
    ASSERT_EQ(pod.ends(rank).size(), 1u);
    EXPECT_EQ(pod.ends(rank)[0].exit_code, 2);
  }
}

TEST(CoordinationService, ProcessMayDisconnectAfterBye) {
  PodOfThreads pod(3);
  auto hubs = pod.connect();
  const auto errors = pod.run([&](int rank) {
    auto& hub = hubs[static_cast<std::size_t>(rank)];
    if (rank == 1) std::this_thread::sleep_for(milliseconds(100));
    hub->bye();
    hub.reset();
  });
  EXPECT_THAT(errors, Each(""));
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(pod.ends(rank).empty());
}

// Tests the default `on_end` in a child process, which it ends with _exit(76).
TEST(CoordinationService, ProcessExitsAtOnceIfRank0IsLost) {
  PodOfThreads pod(2);
  const ::pid_t child = ::fork();
  if (child == 0) {
    PodOptions options;
    options.times = quick_times();
    const auto hub = CoordinationService::connect(pod.place(1), {}, options);
    hub->barrier("never", seconds(60));
    ::_exit(1);
  }
  auto hub = CoordinationService::connect(pod.place(0), {}, pod.options(0));
  hub.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 76);
}

TEST(CoordinationService, ProcessWithoutHeartbeatIsReportedAsLost) {
  PodTimes times = quick_times();
  times.silence = milliseconds(500);
  PodOfThreads pod(2, times);
  const ::pid_t child = ::fork();
  if (child == 0) {
    const auto hub = CoordinationService::connect(pod.place(1), {}, pod.options(1));
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  const auto hub = CoordinationService::connect(pod.place(0), {}, pod.options(0));
  EXPECT_THAT(error_of<SystemError>([&] { hub->barrier("never", seconds(60)); }),
              AllOf(HasSubstr(str("pid ", child)), HasSubstr("no heartbeat for ")));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(CoordinationService, LogsTheHostThatTheOthersWaitFor) {
  const CapturedLog log;
  PodTimes times = quick_times();
  times.say = milliseconds(150);
  PodOfThreads pod(3, times);
  const auto hubs = pod.connect();
  hubs[0]->beat("step 7");
  hubs[1]->beat("input of step 7");
  hubs[2]->beat("step 7");
  const auto until = Clock::now() + seconds(20);
  while (log.text().find("no host makes progress") == std::string::npos && Clock::now() < until)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_THAT(log.text(),
              AllOf(HasSubstr(str("pod: no host makes progress: ", hubs[0]->name_of(1), ", for ")),
                    HasSubstr(" s at input of step 7; 2 hosts at step 7")));
}

}  // namespace
}  // namespace smelt::distributed
