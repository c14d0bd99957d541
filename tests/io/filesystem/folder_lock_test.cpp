// Locks of folders that only one process at a time may use.
#include "io/filesystem/folder_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/failing_flock.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FolderLockTest : public testing::Test {
 protected:
  std::string refusal() const {
    return error_of([&] { const FolderLock second(path_, "train"); });
  }

  TempDir dir_;
  const std::string path_ = dir_.file("deep/model"), lock_ = path_ + "/smelt.lock";
};

TEST_F(FolderLockTest, RejectsASecondProcessAndNamesTheFirst) {
  fs::create_directories(path_);
  {
    const FolderLock first(path_, "train");
    EXPECT_THAT(refusal(), HasSubstr(str("train: ", path_, " is in use by process ", ::getpid(),
                                         " on host ")));
    EXPECT_THAT(refusal(), HasSubstr("hint: wait for it, stop it, or choose another folder"));
    EXPECT_THAT(refusal(), HasSubstr("in use"));  // the rejected process has not removed the lock
  }
  EXPECT_TRUE(fs::is_empty(path_));
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(FolderLockTest, RemovesPartialFilesOfKilledProcesses) {
  const std::string killed = path_ + "/config.json.partial-0123456789abcdef";
  write_file(killed, "{");
  write_file(path_ + "/notes.partial-1", "of somebody else");
  OutputFile live(path_ + "/vocab.txt");
  {
    const FolderLock lock(path_, "train");
    EXPECT_FALSE(fs::exists(killed));
    EXPECT_TRUE(fs::exists(path_ + "/notes.partial-1"));
  }
  live.commit();
  EXPECT_TRUE(fs::exists(path_ + "/vocab.txt"));
}

TEST_F(FolderLockTest, RemovesAFolderThatItCreatedIfItStaysEmpty) {
  {
    const FolderLock first(path_, "train");
  }
  EXPECT_FALSE(fs::exists(path_));
  {
    const FolderLock second(path_, "train");
    write_file(path_ + "/checkpoint", "x");
  }
  EXPECT_EQ(list_folder(path_), std::vector<std::string>{"checkpoint"});
}

TEST_F(FolderLockTest, TakesOverAndReportsTheLockOfAKilledProcess) {
  const CapturedLog log;
  write_file(lock_, str("process 1 on host of another, longer than ours ", std::string(600, 'x')));
  const FolderLock next(path_, "train");
  EXPECT_THAT(read_file(lock_), HasSubstr(str("process ", ::getpid(), " on host ")));
  EXPECT_THAT(log.text(), HasSubstr(" was in use by process 1 on host of another, longer"));
}

TEST_F(FolderLockTest, DescribesItsOwnerWithTimeAndCommand) {
  const LockOwner mine = LockOwner::this_process(), read = LockOwner::parse(mine.text());
  EXPECT_THAT(mine.words, testing::MatchesRegex("process [0-9]+ on host [^ ]+ since "
                                                "20..-..-.. ..:..:.. UTC: .*test_io_filesystem.*"));
  EXPECT_EQ(read.text(), mine.text());
  EXPECT_FALSE(read.has_ended());
  EXPECT_EQ(LockOwner::parse("").words, "another process");
  LockOwner other = mine;
  other.started = "1";  // another process has its pid now
  EXPECT_TRUE(other.has_ended());
  other.machine = "another";
  EXPECT_FALSE(other.has_ended());
}

TEST_F(FolderLockTest, IsLostIfItsFileIsRemovedAndKeepsTheNewLock) {
  for (const bool moved : {false, true}) {
    auto first = std::make_unique<const FolderLock>(path_, "train");
    first->require_held_now();
    if (moved)
      fs::rename(path_, dir_.file("moved"));
    else
      fs::remove(lock_);
    first->require_held();  // has not noticed the loss yet
    const FolderLock second(path_, "train");
    EXPECT_THAT(error_of<SystemError>([&] { first->clear_folder(); }),
                HasSubstr(str("train: ", path_, ": its lock smelt.lock was removed or replaced")));
    EXPECT_THAT(error_of<SystemError>([&] { first->require_held(); }), HasSubstr("hint: run one"));
    first.reset();
    EXPECT_TRUE(fs::exists(lock_));
    second.require_held_now();
  }
}

TEST_F(FolderLockTest, DoesNotFollowASymbolicLink) {
  write_file(dir_.file("victim"), "dear");
  fs::create_directories(path_);
  fs::create_symlink(dir_.file("victim"), lock_);
  EXPECT_THAT(refusal(), HasSubstr("smelt.lock: Too many levels of symbolic links"));
  EXPECT_EQ(read_file(dir_.file("victim")), "dear");
}

TEST_F(FolderLockTest, WarnsAndContinuesIfTheFileSystemHasNoLocks) {
  const CapturedLog log;
  flock_error = ENOLCK;
  const std::string said = refusal();
  flock_error = 0;
  EXPECT_EQ(said, "no error");
  EXPECT_THAT(log.text(),
              HasSubstr("smelt.lock: No locks available: smelt cannot prevent a second "));
}

TEST_F(FolderLockTest, RetriesIfAReaderHoldsTheLockBriefly) {
  fs::create_directories(path_);
  write_file(lock_, "");
  const Descriptor looking(::open(lock_.c_str(), O_RDONLY));
  ASSERT_EQ(::flock(looking.get(), LOCK_SH), 0);
  const std::jthread looks([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::flock(looking.get(), LOCK_UN);
  });
  EXPECT_EQ(refusal(), "no error");
}

TEST_F(FolderLockTest, GivesUpIfTheLockFileIsRemovedEachTime) {
  flock_removes = lock_;
  const std::string said = refusal();
  flock_removes.clear();
  EXPECT_THAT(said, HasSubstr(str("lock: ", lock_, ": was removed or replaced in each of 100 ")));
}

TEST(FileLock, SerializesWritersOfOneFile) {
  const TempDir dir;
  const std::string path = dir.file("number");
  write_file(path, "0");
  const auto count = [&] {
    for (int i = 0; i < 20; ++i) {
      const FileLock turn(path + ".lock");
      write_file(path, std::to_string(std::stoi(read_file(path)) + 1));
    }
  };
  {
    const std::jthread first(count), second(count), third(count);
  }
  EXPECT_EQ(read_file(path), "60");
  EXPECT_FALSE(exists(path + ".lock"));
}

TEST(FileLock, WarnsAndContinuesAfterTheTimeout) {
  const TempDir dir;
  const CapturedLog log;
  const std::string path = dir.file("lock");
  {
    const FileLock held(path);
    const FileLock other(path, {.in_silence = std::chrono::milliseconds(5),
                                .at_most = std::chrono::milliseconds(30)});
    EXPECT_THAT(
        log.text(),
        AllOf(HasSubstr("waiting for another process that holds the lock " + path),
              HasSubstr(path + " is still held by another process; continuing without it")));
  }
  EXPECT_FALSE(exists(path));
}

}  // namespace
}  // namespace smelt::io
