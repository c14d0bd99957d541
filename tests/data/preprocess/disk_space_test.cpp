// The check of disk space before a job.
#include "data/preprocess/disk_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "data/preprocess/runs_builder.h"
#include "data/preprocess/shuffled_order.h"
#include "data/preprocess/small_corpus.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DiskSpaceTest : public testing::Test {
 protected:
  // Returns a job with a sparse text file of `bytes` bytes.
  ExampleJob job(std::uint64_t bytes) const {
    io::write_file(dir_.file("in.txt"), "One line.\n");
    std::filesystem::resize_file(dir_.file("in.txt"), bytes);
    ExampleJob job;
    job.text.input = dir_.file("in.txt");
    job.vocab = golden_vocabulary();
    job.output = dir_.file("out");
    return job;
  }
  std::string refusal(const ExampleJob& job) const {
    const auto tokenizer = text::BertTokenizer::load(golden_vocabulary(), {});
    return error_of([&] { build_in_shuffled_order(CheckedJob(job), tokenizer, RunsBuilder(9)); });
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(DiskSpaceTest, ThrowsBeforeReadingIfSpaceIsTooSmall) {
  constexpr std::uint64_t kBytes = std::uint64_t{8} << 40;
  EXPECT_THAT(refusal(job(kBytes)),
              AllOf(HasSubstr(" free, and about 33.6 TB are needed on its disk, "),
                    HasSubstr(" for temporary files and "),
                    HasSubstr("\n  hint: free some space, name a folder on another disk with "
                              "--work or --out, or use --ignore-space")));
  EXPECT_EQ(io::list_folder(dir_.path()), std::vector<std::string>{"in.txt"});
}

TEST_F(DiskSpaceTest, ChecksTheDiskOfAFuturePath) {
  const auto disk = io::disk_space(dir_.file("not/yet/there"));
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->device, io::disk_space(dir_.path())->device);
  EXPECT_EQ(io::disk_space("gs://bucket/x"), std::nullopt);
}

TEST_F(DiskSpaceTest, RejectsAnOutputAboveTheMaximumObjectSizeOfS3) {
  ExampleJob large = job(std::uint64_t{1} << 40);
  large.output = "s3://bucket/out";
  const CheckedJob checked(large);
  const SpaceNeeded needed = space_needed(checked, {std::uint64_t{1} << 40}, 1);
  EXPECT_THAT(error_of([&] { check_space(checked, needed, dir_.path()); }),
              HasSubstr("output s3://bucket/out would be about 1.2 TB, more than the maximum "
                        "object size of S3, 104.9 GB\n  hint: use --shards 24"));
}

TEST_F(DiskSpaceTest, LogsTheFolderOfTemporaryFiles) {
  const ExampleJob small = job(1000);
  const CheckedJob checked(small);
  check_space(checked, space_needed(checked, {1000}, 10), dir_.file("work"));
  EXPECT_THAT(log_.text(), HasSubstr("temporary files in " + dir_.file("work") + ", about "));
}

}  // namespace
}  // namespace smelt::data
