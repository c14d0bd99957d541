#include "io/filesystem/random_access_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt::io {
namespace {

TEST(RandomAccessFile, ReadsRangesUpToTheEnd) {
  const TempDir dir;
  write_file(dir.file("x"), "0123456789");
  const RandomAccessFile file(dir.file("x"));
  EXPECT_EQ(file.size(), 10u);
  std::string out(4, ' ');
  EXPECT_EQ(file.read_at(3, out), 4u);
  EXPECT_EQ(out, "3456");
  EXPECT_EQ(file.read_at(8, out), 2u);
  EXPECT_EQ(file.read_at(10, out), 0u);
}

TEST(RandomAccessFile, AMissingFileAndADirectoryAreUsageErrors) {
  const TempDir dir;
  EXPECT_THROW(RandomAccessFile(dir.file("none")), UsageError);
  EXPECT_THROW(RandomAccessFile{dir.path()}, UsageError);
}

}  // namespace
}  // namespace smelt::io
