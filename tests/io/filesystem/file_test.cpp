#include "io/filesystem/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.h"
#include "support/error_of.h"
#include "support/file_size_limit.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::size_t entries(const TempDir& dir) {
  return std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator());
}

TEST(OutputFile, AppearsOnlyAtCommit) {
  const TempDir dir;
  {
    OutputFile file(dir.file("new/f"));
    file.write("half");
    EXPECT_FALSE(fs::exists(dir.file("new/f")));
  }
  EXPECT_TRUE(fs::is_empty(dir.file("new")));
  write_file(dir.file("f"), "old");
  OutputFile file(dir.file("f"));
  file.write("new");
  EXPECT_EQ(read_file(dir.file("f")), "old");
  file.commit();
  EXPECT_EQ(read_file(dir.file("f")), "new");
}

TEST(OutputFile, KeepsTheOldFileIfTheDiskIsFull) {
  const TempDir dir;
  write_file(dir.file("f"), "old");
  const FileSizeLimit limit(4096);
  EXPECT_THAT(error_of([&] { write_file(dir.file("f"), std::string(1 << 21, 'x')); }),
              HasSubstr("File too large"));
  EXPECT_EQ(read_file(dir.file("f")), "old");
  EXPECT_EQ(entries(dir), 1u);
}

::mode_t mode_of(const std::string& path) {
  struct ::stat status{};
  EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
  return status.st_mode;
}

TEST(OutputFile, WritesToANamedPipeWithoutReplacingIt) {
  const TempDir dir;
  const std::string pipe = dir.file("pipe"), content(300000, 'x');
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_file(pipe, content); });
  EXPECT_EQ(read_file(pipe), content);
  writer.join();
  EXPECT_TRUE(S_ISFIFO(mode_of(pipe)));
  EXPECT_EQ(entries(dir), 1u);
}

// /dev/stdout may be a link to such a pipe.
TEST(OutputFile, WritesToAnAnonymousPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor from(ends[0]), to(ends[1]);
  write_file(str("/proc/self/fd/", to.get()), "through");
  char bytes[16];
  EXPECT_EQ(std::string(bytes, static_cast<std::size_t>(::read(from.get(), bytes, sizeof bytes))),
            "through");
}

// For root, renaming the output into place would replace /dev/null itself by a file.
TEST(OutputFile, WritesToADeviceWithoutReplacingIt) {
  const TempDir dir;
  const std::string null = dir.file("null");
  if (::mknod(null.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 ||
      ::open(null.c_str(), O_WRONLY | O_CLOEXEC) < 0)
    GTEST_SKIP() << "this user may make no device";
  write_file(null, "gone");
  EXPECT_TRUE(S_ISCHR(mode_of(null)));
  EXPECT_EQ(entries(dir), 1u);
}

TEST(OutputFile, RejectsAFolder) {
  const TempDir dir;
  EXPECT_THAT(error_of<UsageError>([&] { write_file(dir.path(), "x"); }),
              HasSubstr("write: " + dir.path() + ": Is a directory"));
  EXPECT_EQ(entries(dir), 0u);
}

TEST(OutputFile, ReplacesTheTargetOfALinkAndKeepsTheLink) {
  const TempDir dir;
  write_file(dir.file("to/real"), "old");
  fs::create_symlink("to/real", dir.file("link"));
  write_file(dir.file("link"), "new");
  EXPECT_TRUE(fs::is_symlink(dir.file("link")));
  EXPECT_EQ(read_file(dir.file("to/real")), "new");
}

TEST(OutputFile, CreatesTheMissingTargetOfALink) {
  const TempDir dir;
  fs::create_symlink("new/real", dir.file("first"));
  fs::create_symlink("first", dir.file("link"));
  write_file(dir.file("link"), "new");
  EXPECT_TRUE(fs::is_symlink(dir.file("link")));
  EXPECT_TRUE(fs::is_symlink(dir.file("first")));
  EXPECT_EQ(read_file(dir.file("new/real")), "new");
  fs::create_symlink("circle", dir.file("circle"));
  EXPECT_THAT(error_of([&] { write_file(dir.file("circle"), "x"); }),
              HasSubstr("circle: Too many levels of symbolic links"));
}

TEST(RemoveAbandoned, RemovesOnlyPartialFilesOfTheGivenPaths) {
  const TempDir dir;
  const std::string id = "0123456789abcdef";
  const std::vector<std::string> others{"f.partial-1",
                                        "f.partial-mine",
                                        str("f.partial-", id, "0"),
                                        "f.partial-0123456789ABCDEF",
                                        str("f.partial-", id, ".gz"),
                                        str("g.partial-", id)};
  for (const std::string& name : others) write_file(dir.file(name), "");
  const std::string folder = "f.partial-aaaaaaaaaaaaaaaa";
  fs::create_directory(dir.file(folder));
  write_file(dir.file(str("f.partial-", id)), "");
  fs::create_symlink("h", dir.file("link"));
  write_file(dir.file(str("h.partial-", id)), "");
  remove_abandoned({dir.file("f"), dir.file("link")});
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(dir.file(name))) << name;
  EXPECT_TRUE(fs::exists(dir.file(folder)));
  EXPECT_EQ(entries(dir), others.size() + 2);
}

TEST(RemoveAbandoned, KeepsPartialFilesOfRunningProcesses) {
  const TempDir dir;
  OutputFile file(dir.file("f"));
  file.write("all of it");
  remove_abandoned({dir.file("f")});
  file.commit();
  EXPECT_EQ(read_file(dir.file("f")), "all of it");
}

TEST(OutputFile, IsReadableByItsOwnerOnlyUntilCommit) {
  const TempDir dir;
  const ::mode_t before = ::umask(027);
  OutputFile file(dir.file("f"));
  file.write("x");
  const std::string partial = fs::directory_iterator(dir.path())->path();
  EXPECT_EQ(mode_of(partial), S_IFREG | 0600u);
  file.commit();
  EXPECT_EQ(mode_of(dir.file("f")), S_IFREG | 0640u);
  OutputDirectory directory(dir.file("d"));
  EXPECT_EQ(mode_of(directory.file("")), S_IFDIR | 0700u);
  directory.commit();
  EXPECT_EQ(mode_of(dir.file("d")), S_IFDIR | 0750u);
  ::umask(before);
}

TEST(OutputFile, UsesRandomNamesForPartialFiles) {
  const TempDir dir;
  OutputFile one(dir.file("f")), other(dir.file("f"));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    const std::string name = entry.path().filename();
    EXPECT_THAT(name, testing::MatchesRegex("f\\.partial-[0-9a-f]{16}"));
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 2u);
}

TEST(ShareFile, CopiesIfHardLinksAreImpossible) {
  const std::string from = "/proc/self/status";  // on another file system
  const TempDir dir;
  share_file(from, dir.file("copy"));
  EXPECT_THAT(read_file(dir.file("copy")), HasSubstr("Umask:"));
  EXPECT_EQ(entries(dir), 1u);
}

TEST(OutputDirectory, AppearsOnlyAtCommitAndReplacesNoFolder) {
  const TempDir dir;
  {
    const OutputDirectory abandoned(dir.file("d"));
    write_file(abandoned.file("member"), "x");
  }
  EXPECT_EQ(entries(dir), 0u);
  OutputDirectory made(dir.file("d/"));
  write_file(made.file("member"), "x");
  made.commit();
  EXPECT_EQ(read_file(dir.file("d/member")), "x");
  EXPECT_THAT(error_of([&] { OutputDirectory again(dir.file("d")); }),
              HasSubstr("d exists and is not empty"));
}

TEST(Patterns, ExpandInOrder) {
  const TempDir dir;
  for (const char* name : {"b1", "a2", "a1"}) write_file(dir.file(name), "");
  EXPECT_THAT(expand_patterns(str(dir.file("b1"), ", ", dir.file("a*")), "--input"),
              ElementsAre(dir.file("b1"), dir.file("a1"), dir.file("a2")));
}

TEST(Patterns, ReportsPatternsWithoutAMatch) {
  const TempDir dir;
  const auto expand = [&](const std::string& text) {
    return error_of([&] { expand_patterns(text, "--input"); });
  };
  EXPECT_THAT(expand(dir.file("*.txt")), HasSubstr("--input: no file matches '"));
  EXPECT_THAT(expand(dir.file("*.txt")), HasSubstr("hint: check the pattern, and quote it"));
  EXPECT_THAT(
      error_of([&] { expand_patterns(dir.file("*.txt"), "text.input"); }),
      HasSubstr("hint: check the pattern; it is relative to the folder in which smelt runs"));
  EXPECT_THAT(expand(dir.file("none")), HasSubstr("none: No such file or directory"));
  EXPECT_THAT(expand(" , "), HasSubstr("--input: no input files"));
  write_file(dir.file("a,b.txt"), "a");
  EXPECT_THAT(expand(dir.file("a,b.txt")),
              HasSubstr("hint: write ? for each comma in a name: '" + dir.file("a?b.txt'")));
  EXPECT_EQ(expand_patterns(dir.file("a?b.txt"), "--input"), std::vector{dir.file("a,b.txt")});
}

TEST(InputFile, ReadsAPipe) {
  const TempDir dir;
  const std::string pipe = dir.file("pipe"), content(300000, 'x');
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << content; });
  EXPECT_EQ(read_file(pipe), content);
  writer.join();
}

TEST(InputFile, RejectsFilesAboveTheSizeLimit) {
  const TempDir dir;
  std::ofstream(dir.file("large"));
  std::filesystem::resize_file(dir.file("large"), std::uintmax_t{1} << 40);
  EXPECT_THAT(error_of<UsageError>([&] { read_file(dir.file("large"), kSmallFileBytes); }),
              HasSubstr("large: larger than the maximum of 64 MiB for such a file"));
}

TEST(InputFile, ReportsMissingFilesAndFolders) {
  const TempDir dir;
  EXPECT_THAT(error_of([&] { read_file(dir.file("none")); }), HasSubstr("open: "));
  EXPECT_THAT(error_of([&] { read_file(dir.path()); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace smelt::io
