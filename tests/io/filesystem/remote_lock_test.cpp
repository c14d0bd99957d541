// Locks of folders on an object store that only one process at a time may use.
#include "io/filesystem/remote_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class RemoteLockTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
    folder_ = emulator_->path("run/model");
    claims_ = emulator_->path("run/model/smelt.lock");
  }
  std::string refusal(LockTimes times = {}) const {
    return error_of([&] { const FolderLock second(folder_, "train", times); });
  }
  // Writes a claim as another process would.
  void claim(const std::string& name, const std::string& state, const LockOwner& owner) const {
    write_file(join_path(claims_, name), str(state, "\n", owner.text()));
  }
  static LockOwner elsewhere() {
    LockOwner owner = LockOwner::this_process();
    owner.words = "process 7 on host b since then: smelt run";
    owner.machine = "b";
    return owner;
  }

  CapturedLog log_;
  std::unique_ptr<GcsEmulator> emulator_;
  std::string folder_, claims_;
};

TEST_F(RemoteLockTest, RejectsASecondProcessAndNamesTheFirst) {
  {
    const FolderLock first(folder_, "train");
    EXPECT_THAT(
        refusal(),
        AllOf(HasSubstr(str("train: ", folder_, " is in use by process ", ::getpid(), " on host ")),
              HasSubstr(" s ago\n  hint: wait for it, stop it, or choose ")));
    EXPECT_THAT(refusal(), HasSubstr("in use"));  // the rejected process has not removed the lock
    EXPECT_EQ(list_folder(claims_).size(), 1u);
    first.require_held();
  }
  EXPECT_THAT(list_folder(folder_), IsEmpty());
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(RemoteLockTest, RemovesTheLockOfAKilledProcessOfThisMachine) {
  LockOwner killed = LockOwner::this_process();
  killed.words = "process 7 on host here";
  killed.started = "1";
  claim("0", "held", killed);
  EXPECT_EQ(refusal(), "no error");
  EXPECT_THAT(log_.text(),
              HasSubstr("removing the lock of process 7 on host here, which has ended"));
  EXPECT_THAT(list_folder(claims_), IsEmpty());
}

TEST_F(RemoteLockTest, TakesOverALockThatIsStaleByTheStoresClock) {
  claim("0", "held", elsewhere());
  // The time is so long that even a busy machine looks at the lock before it is stale.
  EXPECT_EQ(refusal({.stale_seconds = 1, .look_seconds = 0.01}), "no error");
  EXPECT_THAT(
      log_.text(),
      AllOf(HasSubstr("is in use by process 7 on host b since then: smelt run: waiting "),
            HasSubstr("removing the lock of process 7 on host b since then: smelt run, not renewed "
                      "for ")));
}

TEST_F(RemoteLockTest, RejectsARenewedLockOfAnotherMachine) {
  claim("0", "held", elsewhere());
  std::atomic<bool> over = false;
  std::thread renewing([&] {
    while (!over) claim("0", "held", elsewhere());
  });
  EXPECT_THAT(refusal({.look_seconds = 0.01}),
              HasSubstr("is in use by process 7 on host b since then: smelt run, whose lock was "
                        "renewed 0 s ago"));
  over = true;
  renewing.join();
}

TEST_F(RemoteLockTest, OneOfTwoPendingClaimsGivesUp) {
  claim("0", "claimed", elsewhere());
  EXPECT_THAT(refusal(), HasSubstr("is in use by process 7"));
  remove_tree(claims_);
  claim("z", "claimed", elsewhere());
  auto waiting = std::async(std::launch::async, [&] { return refusal({.look_seconds = 0.01}); });
  while (list_folder(claims_).size() < 2) std::this_thread::yield();
  remove_tree(join_path(claims_, "z"));
  EXPECT_EQ(waiting.get(), "no error");
}

TEST_F(RemoteLockTest, HasAtMostOneHolder) {
  std::atomic<int> holders = 0, most = 0, ever = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      try {
        const FolderLock lock(folder_, "train");
        const int now = ++holders;
        most = std::max(most.load(), now);
        ++ever;
        for (int look = 0; look < 20; ++look) (void)list_folder(claims_);
        --holders;
      } catch (const UsageError&) {
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 1);
  EXPECT_GE(ever, 1);
}

TEST_F(RemoteLockTest, HolderIsToldThatTheLockIsLost) {
  const FolderLock lock(folder_, "train", {.renew_seconds = 0.01, .stale_seconds = 120});
  std::string message = "no error";
  while (message == "no error") {
    remove_tree(claims_);  // like a process that considers it stale
    message = error_of([&] { lock.require_held(); });
  }
  EXPECT_THAT(message,
              HasSubstr(str("train: ", folder_, ": another process has locked this folder")));
}

TEST_F(RemoteLockTest, IsLostIfAnotherProcessAlsoHoldsIt) {
  const FolderLock lock(folder_, "train", {.renew_seconds = 0.01, .stale_seconds = 120});
  claim("0", "held", elsewhere());
  while (error_of([&] { lock.require_held(); }) == "no error") std::this_thread::yield();
}

TEST_F(RemoteLockTest, RequireHeldNowDetectsTheLossAtOnce) {
  const FolderLock lock(folder_, "train");
  lock.require_held_now();
  claim("0", "held", elsewhere());
  lock.require_held();  // has not noticed the loss yet
  EXPECT_THAT(error_of([&] { lock.require_held_now(); }),
              HasSubstr(": another process has locked this folder"));
}

TEST_F(RemoteLockTest, FolderWorkerReportsTheHolder) {
  EXPECT_EQ(folder_worker(folder_), std::nullopt);
  {
    const FolderLock lock(folder_, "train");
    EXPECT_THAT(folder_worker(folder_).value_or(""),
                HasSubstr(str("process ", ::getpid(), " on ")));
    EXPECT_EQ(remote_worker(folder_, {.stale_seconds = 0}), std::nullopt);  // stale
  }
  EXPECT_EQ(folder_worker(folder_), std::nullopt);
}

TEST_F(RemoteLockTest, ReportsDeniedWritesAndDeletesAtOnce) {
  emulator_->fault(R"([{"match": "POST /upload", "do": "status 403", "times": 9}])");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("write: gs://bucket/run/model/smelt.lock/"),
                               HasSubstr("permission storage.objects.create"),
                               HasSubstr("is denied to anonymous (gs://anonymous@")));
  emulator_->fault(R"([{"match": "DELETE ", "do": "status 403", "times": 9}])");
  EXPECT_THAT(refusal(), HasSubstr("permission storage.objects.delete on bucket 'bucket', obje"));
}

}  // namespace
}  // namespace smelt::io
