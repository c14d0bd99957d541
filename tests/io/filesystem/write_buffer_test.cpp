#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "io/filesystem/file.h"
#include "io/filesystem/file_content.h"
#include "support/error_of.h"
#include "support/file_size_limit.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

using testing::HasSubstr;

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 12));
  return bytes;
}

void expect_written(const std::string& path, const std::string& bytes, std::size_t piece) {
  OutputFile file(path, OutputFile::Cache::bypassed);
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    file.write(std::string_view(bytes).substr(at, piece));
  file.commit();
  EXPECT_TRUE(read_file(path) == bytes) << path << " of " << bytes.size() << " bytes by " << piece;
}

TEST(WriteBuffer, WritesFilesOfAnySizeWithDirectIo) {
  constexpr std::size_t kBuffer = std::size_t{4} << 20;
  const TempDir dir;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{4097},
        kBuffer - 1, kBuffer, kBuffer + 1, 2 * kBuffer + 4096, 2 * kBuffer + 12345})
    expect_written(dir.file("f"), pattern(size), 1 << 20);
  expect_written(dir.file("f"), pattern(kBuffer + 777), 12347);
}

TEST(WriteBuffer, UsesThePageCacheAfterAFlush) {
  const TempDir dir;
  const std::string bytes = pattern(9'000'001);
  OutputFile file(dir.file("f"), OutputFile::Cache::bypassed);
  file.write(std::string_view(bytes).substr(0, 5000));
  file.flush();
  file.write(std::string_view(bytes).substr(5000));
  file.commit();
  EXPECT_TRUE(read_file(dir.file("f")) == bytes);
}

// tmpfs rejects writes that bypass the page cache, because it has no other storage.
TEST(WriteBuffer, WorksOnTmpfs) {
  if (!std::filesystem::is_directory("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const std::string path = "/dev/shm/smelt-write-buffer-" + std::to_string(::getpid());
  expect_written(path, pattern(100'001), 7777);
  std::filesystem::remove(path);
}

TEST(WriteBuffer, ReportsAFullDiskAndLeavesNoFile) {
  const TempDir dir;
  {
    const FileSizeLimit limit(1 << 20);
    OutputFile file(dir.file("f"), OutputFile::Cache::bypassed);
    EXPECT_THAT(error_of([&] { file.write(pattern(std::size_t{9} << 20)); }),
                HasSubstr("File too large"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(FileContent, HoldsTheBytesOfTheFile) {
  const TempDir dir;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{123457}}) {
    write_file(dir.file("f"), pattern(size));
    EXPECT_TRUE(FileContent(dir.file("f")).bytes() == pattern(size)) << size;
  }
}

TEST(FileContent, BytesOutliveTheObjectAndTheDeletedFile) {
  const TempDir dir;
  write_file(dir.file("f"), pattern(5000));
  std::optional<FileContent> content(dir.file("f"));
  const auto owner = content->owner();
  const std::string_view bytes = content->bytes();
  content.reset();
  std::filesystem::remove(dir.file("f"));
  EXPECT_TRUE(bytes == pattern(5000));
}

TEST(FileContent, ReadsAPipe) {
  const TempDir dir;
  const std::string pipe = dir.file("pipe"), content(300000, 'x');
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe) << content; });
  EXPECT_TRUE(FileContent(pipe).bytes() == content);
  writer.join();
}

TEST(FileContent, ReportsMissingFilesAndFolders) {
  const TempDir dir;
  EXPECT_THAT(error_of([&] { FileContent(dir.file("none")); }), HasSubstr("none"));
  EXPECT_THAT(error_of([&] { FileContent(dir.path()); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace smelt::io
