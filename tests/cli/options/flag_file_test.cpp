#include "cli/options/flag_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::ElementsAre;

TEST(FlagFiles, ExpandInPlaceOfTheirFlag) {
  const TempDir dir;
  io::write_file(dir.file("a"), "--one=1\n\n  # none\n// none\n --two x \r\n--flagfile=" +
                                    dir.file("b") + "\n--five");
  io::write_file(dir.file("b"), "--three\n--flagfile=" + dir.file("a") + "\n--four=\n");
  EXPECT_THAT(with_flag_files({"run", "--flagfile=" + dir.file("a"), "--six"}),
              ElementsAre("run", "--one=1", "--two x", "--three", "--four=", "--five", "--six"));
  EXPECT_THAT(with_flag_files({"--flagfile", dir.file("b"), "--flagfile", dir.file("b")}),
              ElementsAre("--three", "--one=1", "--two x", "--five", "--four=", "--three",
                          "--one=1", "--two x", "--five", "--four="));
}

TEST(FlagFiles, ReportAMissingFile) {
  EXPECT_EQ(error_of<UsageError>([] { with_flag_files({"--flagfile=/nowhere/f"}); }),
            "--flagfile: /nowhere/f does not exist\n  hint: correct the path");
  for (const char* empty : {"--flagfile", "--flagfile="})
    EXPECT_EQ(error_of<UsageError>([&] { with_flag_files({empty}); }),
              "--flagfile has no value\n  hint: write the path of a flag file after it");
}

}  // namespace
}  // namespace smelt::cli
