#include "data/input_pipeline/record_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "base/error.h"
#include "base/parallel.h"
#include "io/filesystem/file.h"
#include "io/formats/tfrecord.h"
#include "support/bert_records.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::HasSubstr;

class RecordBlocksTest : public testing::Test {
 protected:
  RecordBlocksTest() {
    for (int file = 0; file < 3; ++file) write_test_examples(path(file), 13 * file, 13);
  }
  std::string path(int file) const { return dir_.file(str("r-", file)); }
  static std::string read(RecordBlocks& blocks, std::uint64_t record) {
    std::string out;
    blocks.read(std::vector{record}, [&](std::string_view data, std::size_t) { out = data; });
    return out;
  }

  TempDir dir_;
};

TEST_F(RecordBlocksTest, ReturnTheDataOfEachRecordOnAnyThread) {
  const RecordIndex index({path(0), path(1), path(2)});
  for (const std::uint64_t block : {1, 4, 16, 64})
    for (const std::size_t capacity : {1, 3, 100}) {
      RecordBlocks blocks(index, block, capacity);
      std::atomic<std::uint64_t> next = 0;
      run_parallel(4, [&](int) {
        for (std::uint64_t i; (i = next++) < 400;) {
          const std::vector<std::uint64_t> records{i * 31 % 39, i * 17 % 39, i * 5 % 39};
          std::size_t used = 0;
          blocks.read(records, [&](std::string_view data, std::size_t row) {
            EXPECT_EQ(row, used++);
            EXPECT_EQ(data, index.read(records[row])) << block << " " << capacity;
          });
          EXPECT_EQ(used, 3u);
        }
      });
    }
}

TEST_F(RecordBlocksTest, ReadsACachedBlockOnlyOnce) {
  const RecordIndex index({path(0)});
  const std::string bytes = io::read_file(path(0)), first = index.read(0), second = index.read(1);
  RecordBlocks blocks(index, 4, 2);
  EXPECT_EQ(read(blocks, 0), first);
  io::write_file(path(0), bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(read(blocks, 1), second);
}

TEST_F(RecordBlocksTest, RetriesFailedReads) {
  const RecordIndex index({path(0)});
  std::filesystem::rename(path(0), dir_.file("away"));
  RecordBlocks blocks(index, 4, 2);
  EXPECT_THAT(error_of<UsageError>([&] { read(blocks, 2); }), HasSubstr("r-0: No such file"));
  std::filesystem::rename(dir_.file("away"), path(0));
  EXPECT_EQ(read(blocks, 2), index.read(2));
}

TEST_F(RecordBlocksTest, DamagedRecordDoesNotAffectOthersOfItsBlock) {
  const RecordIndex index({path(0)});
  std::string bytes = io::read_file(path(0));
  bytes[index.offset(2) + 20] ^= 1;
  io::write_file(path(0), bytes);
  RecordBlocks blocks(index, 4, 2);
  read(blocks, 1);
  EXPECT_THAT(error_of<UsageError>([&] { read(blocks, 2); }), HasSubstr("r-0: record at offset"));
  read(blocks, 3);
}

TEST_F(RecordBlocksTest, BlockSizeIsAPowerOfTwo) {
  EXPECT_EQ(block_of_records(RecordIndex({path(0)})), 1024u);
  std::string large;
  for (int i = 0; i < 3; ++i)
    io::append_record(large, std::string(7000, 'x'));  // 149 of them in a megabyte
  io::write_file(dir_.file("large"), large);
  EXPECT_EQ(block_of_records(RecordIndex({dir_.file("large")})), 128u);
}

}  // namespace
}  // namespace smelt::data
