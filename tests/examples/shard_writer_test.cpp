#include "examples/shard_writer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace smelt {
namespace {

TEST(ShardWriter, EveryRangeHasOnePlaceAndThoseOfAShardComeInOrder) {
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

TEST(ShardWriter, AsManyShardsAsThereAreLanesAreBegunSideBySide) {
  const auto order = writing_order(std::vector<std::size_t>(11, 5), 4);
  std::set<std::size_t> begun;
  for (std::size_t place = 0; place < 4; ++place) begun.insert(order[place].shard);
  EXPECT_EQ(begun, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(order[4 * 5].shard, 4u);
  EXPECT_EQ(order[8 * 5 + 3].range, 1u);  // the last three
}

}  // namespace
}  // namespace smelt
