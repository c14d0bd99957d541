// `smelt data bert` as a user runs it, killed at random times and run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "base/str.h"
#include "base/stream_random.h"
#include "io/filesystem/file.h"
#include "io/formats/crc32c.h"
#include "support/oracle.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;
using std::chrono::microseconds;

std::string text_of(const std::string& vocab) {
  const std::string file = io::read_file(vocab);
  const auto words = split(file, '\n');
  StreamRandom random(1, 0, 0);
  std::string text;
  for (int line = 0; line < 3000; ++line) {
    for (int word = 0; word < 20; ++word)
      text += str(words[static_cast<std::size_t>(random.randint(5, std::ssize(words) - 2))], " ");
    text += line % 9 == 0 ? "\n\n" : "\n";
  }
  return text;
}

std::string fingerprint(const std::string& bytes) {
  return str(bytes.size(), " bytes, ", io::crc32c(bytes));
}

class DataBert : public testing::Test {
 protected:
  void SetUp() override { io::write_file(dir_.file("in.txt"), text_of(vocab_)); }

  pid_t start(const std::string& folder) {
    const std::string out = dir_.file(folder + "/train.tfrecord"), in = dir_.file("in.txt");
    const pid_t pid = fork();
    if (pid != 0) return pid;
    if (freopen("/dev/null", "w", stdout) == nullptr ||
        freopen("/dev/null", "w", stderr) == nullptr)
      _exit(126);
    execl(smelt_program().c_str(), "smelt", "data", "bert", "--input", in.c_str(), "--vocab",
          vocab_.c_str(), "--out", out.c_str(), "--shards", "5", "--threads", "2", nullptr);
    _exit(127);
  }
  static int finish(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  // Returns a fingerprint of each file by name, without temporary files.
  std::map<std::string, std::string> files(const std::string& folder) {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(dir_.file(folder)))
      if (entry.is_regular_file() &&
          entry.path().filename().string().find(".work") == std::string::npos)
        out[entry.path().filename()] = fingerprint(io::read_file(entry.path()));
    return out;
  }

  TempDir dir_;
  const std::string vocab_ = source_path("tests/golden/pretraining/vocab_uncased.txt");
};

TEST_F(DataBert, GivesTheSameBytesAfterKillsAtRandomTimes) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(finish(start("whole")), 0);
  auto longest = std::chrono::duration_cast<microseconds>(std::chrono::steady_clock::now() - begin);
  const auto wanted = files("whole");
  ASSERT_EQ(wanted.size(), 11u);  // five record files, their indexes, and a description
  std::mt19937 random(std::random_device{}());
  for (int killed = 0; killed < 20;) {
    const std::string folder = str("killed", killed);
    const pid_t pid = start(folder);
    const microseconds instant(std::uniform_int_distribution<long>(0, longest.count())(random));
    std::this_thread::sleep_for(instant);
    kill(pid, SIGKILL);
    const int status = finish(pid);
    if (!WIFSIGNALED(status)) {
      longest = instant;  // it ended before the kill: kill the next ones earlier
    } else {
      ++killed;
      // If the run was complete when it was killed, its outputs exist and another run is refused.
      const bool complete = fs::exists(dir_.file(folder + "/train-00000-of-00005.tfrecord.json"));
      ASSERT_TRUE(finish(start(folder)) == 0 || complete)
          << "killed after " << instant.count() << " us";
    }
    ASSERT_EQ(files(folder), wanted) << "killed after " << instant.count() << " us";
    for (const auto& entry : fs::directory_iterator(dir_.file(folder)))
      EXPECT_TRUE(entry.is_regular_file() &&
                  entry.path().string().find(".partial") == std::string::npos)
          << entry.path() << " remains";
    fs::remove_all(dir_.file(folder));
  }
}

}  // namespace
}  // namespace smelt::cli
