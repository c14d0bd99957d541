// The work folder of a long job: locking, keeping, removing, and errors.
#include "data/preprocess/work_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "base/stop_notice.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/failing_flock.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;

const OrderedJson kJob{{"outputs", {"a", "b"}}};

std::string refusal(const std::string& path) {
  return error_of([&] { const WorkFolder folder(path); });
}

class WorkFolderTest : public testing::Test {
 protected:
  // Returns a folder left by a job.
  std::string left_by(const OrderedJson& job) {
    WorkFolder folder(path_);
    folder.begin(job);
    io::write_file(folder.file("hours"), "of work");
    folder.keep(true);
    return path_;
  }

  TempDir dir_;
  const std::string path_ = dir_.file("deep/train.work");
};

TEST_F(WorkFolderTest, IsPrivateToTheUserAndIsRemoved) {
  {
    WorkFolder folder(path_);
    EXPECT_EQ(fs::status(path_).permissions(), fs::perms::owner_all);
    EXPECT_EQ(folder.job(), std::nullopt);
    folder.begin(kJob);
    EXPECT_EQ(folder.job(), kJob);
    io::write_file(folder.file("below/file"), "x");
  }
  EXPECT_FALSE(fs::exists(dir_.file("deep")));
  io::make_folders(dir_.file("deep"));
  {
    const WorkFolder folder(path_);
  }
  EXPECT_TRUE(fs::exists(dir_.file("deep")));  // created by another process
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(WorkFolderTest, KeepsFilesOfAnEarlierJobUntilAnotherBegins) {
  left_by(kJob);
  {
    const WorkFolder run_check(path_);
  }
  ASSERT_TRUE(fs::exists(path_ + "/hours"));
  WorkFolder folder(path_ + "/");
  EXPECT_EQ(folder.job(), kJob);
  folder.begin(OrderedJson{{"outputs", "c"}});
  EXPECT_FALSE(fs::exists(path_ + "/hours"));
}

TEST_F(WorkFolderTest, RejectsAFolderInUseByAnotherProcess) {
  const WorkFolder busy(path_);
  EXPECT_THAT(refusal(path_), HasSubstr("train.work: another process is making these files"));
}

TEST_F(WorkFolderTest, WarnsIfLocksAreNotSupported) {
  const CapturedLog log;
  flock_error = ENOLCK;
  const std::string said = refusal(path_);
  flock_error = 0;
  EXPECT_EQ(said, "no error");
  EXPECT_THAT(log.text(), HasSubstr(str("lock: ", path_,
                                        "/smelt-work.lock: No locks available: smelt cannot "
                                        "prevent a second process from using this work folder")));
}

TEST_F(WorkFolderTest, GivesUpIfTheLockFileKeepsVanishing) {
  flock_removes = path_ + "/smelt-work.lock";
  const std::string said = refusal(path_);
  flock_removes.clear();
  EXPECT_THAT(said, HasSubstr("smelt-work.lock: was removed or replaced in each of 100 attempts"));
}

TEST_F(WorkFolderTest, RejectsFoldersWithOtherFiles) {
  fs::create_directories(path_);
  for (const char* name : {"letter.txt", "lock", "smelt-work.lock"}) {
    io::write_file(path_ + "/" + name, "dear");
    EXPECT_THAT(refusal(path_), HasSubstr("train.work: holds other files")) << name;
    EXPECT_EQ(io::read_file(path_ + "/" + name), "dear");
    fs::remove(path_ + "/" + name);
  }
  EXPECT_EQ(refusal(path_), "no error");  // it is empty
}

TEST_F(WorkFolderTest, RejectsLinksAndFoldersThatOtherUsersOwnOrMayWrite) {
  fs::create_directories(dir_.file("elsewhere"));
  fs::create_directory_symlink(dir_.file("elsewhere"), dir_.file("link"));
  EXPECT_THAT(refusal(dir_.file("link")), HasSubstr("link: is a link or a file"));
  fs::permissions(dir_.file("elsewhere"), fs::perms::all);
  EXPECT_THAT(refusal(dir_.file("elsewhere")),
              HasSubstr("elsewhere: belongs to another user, or other users may write to it"));
  if (::geteuid() != 0) return;  // only root can give a folder away
  fs::permissions(dir_.file("elsewhere"), fs::perms::owner_all);
  ASSERT_EQ(::chown(dir_.file("elsewhere").c_str(), 12345, 12345), 0);
  EXPECT_THAT(refusal(dir_.file("elsewhere")), HasSubstr("elsewhere: belongs to another user"));
}

TEST_F(WorkFolderTest, RejectsALockFileThatIsALink) {
  fs::create_directories(path_);
  io::write_file(dir_.file("victim"), "");
  fs::create_symlink(dir_.file("victim"), path_ + "/smelt-work.lock");
  EXPECT_THAT(refusal(path_), HasSubstr("smelt-work.lock: Too many levels of symbolic links"));
  EXPECT_EQ(io::read_file(dir_.file("victim")), "");
}

TEST_F(WorkFolderTest, FindsTheTemporaryFolderOfTheSameJob) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", dir_.path().c_str(), 1);
  const std::string first = temporary_work_folder("outputs", kJob["outputs"]);
  fs::create_directory(dir_.file("smelt-work-foreign"));
  io::write_file(dir_.file("smelt-work-foreign/job.json"), kJob.dump());
  {
    WorkFolder folder(first);
    folder.begin(kJob);
    folder.keep(true);
  }
  EXPECT_EQ(temporary_work_folder("outputs", kJob["outputs"]), first);
  const std::string other = temporary_work_folder("outputs", OrderedJson{"c"});
  EXPECT_NE(other, first);
  EXPECT_EQ(fs::status(other).permissions(), fs::perms::owner_all);
  kept.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

using WorkFolderDeathTest = WorkFolderTest;

TEST_F(WorkFolderDeathTest, IsRemovedWhenASignalEndsTheProcess) {
  const std::string kept = dir_.file("kept"), removed = dir_.file("removed");
  const auto interrupted = [&](const std::string& path, bool is_removed) {
    WorkFolder work(path);
    work.begin(kJob);
    if (is_removed) work.remove_at_signal();
    const StopNotice notice;
    std::raise(SIGTERM);
  };
  EXPECT_EXIT(interrupted(kept, false), testing::ExitedWithCode(kStoppedExit), "to resume");
  EXPECT_EXIT(interrupted(removed, true), testing::ExitedWithCode(kStoppedExit), "stopped");
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_FALSE(fs::exists(removed));
}

TEST_F(WorkFolderTest, RejectsAMissingTemporaryFolder) {
  const ScopedVariable folder("TMPDIR", dir_.file("nowhere"));
  EXPECT_THAT(error_of([] { temporary_work_folder("outputs", kJob["outputs"]); }),
              AllOf(HasSubstr("(TMPDIR) cannot be used: "),
                    EndsWith("\n  hint: set TMPDIR to a folder that exists")));
}

}  // namespace
}  // namespace smelt::data
