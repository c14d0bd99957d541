#include "data/preprocess/shard_writer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "io/filesystem/file.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

TEST(ShardWriter, WritesEachRangeOnceAndInOrderWithinItsShard) {
  for (const std::size_t shards : {1, 3, 8, 11})
    for (std::size_t lanes = 1; lanes <= shards; ++lanes) {
      std::vector<std::size_t> ranges(shards);
      for (std::size_t i = 0; i < shards; ++i) ranges[i] = 1 + i * 7 % 5;
      std::vector<std::size_t> next(shards);
      for (const auto [shard, range] : writing_order(ranges, lanes)) {
        ASSERT_LT(shard, shards);
        ASSERT_EQ(range, next[shard]++) << shards << " " << lanes;
      }
      EXPECT_EQ(next, ranges);
    }
}

TEST(ShardWriter, StartsOneShardPerLane) {
  const auto order = writing_order(std::vector<std::size_t>(11, 5), 4);
  std::set<std::size_t> begun;
  for (std::size_t place = 0; place < 4; ++place) begun.insert(order[place].shard);
  EXPECT_EQ(begun, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(order[4 * 5].shard, 4u);
  EXPECT_EQ(order[8 * 5 + 3].range, 1u);  // the last three
}

// The seal does not depend on how the bytes are written. The middle of a large file is not read.
TEST(ShardSeal, IdentifiesAFileByItsSizeAndEnds) {
  const TempDir dir;
  for (const std::size_t size : {0, 1, 1000, 65536, 65537, 131072, 1 << 20}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * i >> 3);
    ShardSeal seal;
    for (std::size_t at = 0, piece = 1; at < size; at += piece, piece = piece * 3 + 1)
      seal.add(std::string_view(bytes).substr(at, piece));
    io::write_file(dir.file("seal"), seal.text());
    const auto is_it = [&](const std::string& content) {
      io::write_file(dir.file("records"), content);
      return is_sealed(dir.file("records"), dir.file("seal"));
    };
    EXPECT_TRUE(is_it(bytes)) << size;
    EXPECT_FALSE(is_it(bytes + "x")) << size;
    if (size == 0) continue;
    for (const std::size_t at : {std::size_t{0}, size - 1}) {
      std::string other = bytes;
      other[at] ^= 1;
      EXPECT_FALSE(is_it(other)) << size;
    }
  }
}

}  // namespace
}  // namespace smelt::data
