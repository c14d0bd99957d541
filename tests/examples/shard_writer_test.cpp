#include "examples/shard_writer.h"

#include <gtest/gtest.h>

#include <set>

namespace smelt {
namespace {

TEST(ShardWriter, EveryRangeHasOnePlaceAndThoseOfAShardComeInOrder) {
  for (const std::size_t shards : {1, 3, 8, 11})
    for (const std::size_t ranges : {1, 2, 5})
      for (std::size_t lanes = 1; lanes <= shards; ++lanes) {
        std::vector<std::size_t> next(shards);
        for (std::size_t place = 0; place < shards * ranges; ++place) {
          const ShardRange at = range_at(place, shards, ranges, lanes);
          ASSERT_LT(at.shard, shards);
          ASSERT_EQ(at.range, next[at.shard]++)
              << shards << " " << ranges << " " << lanes << " " << place;
        }
      }
}

TEST(ShardWriter, AsManyShardsAsThereAreLanesAreBegunSideBySide) {
  std::set<std::size_t> begun;
  for (std::size_t place = 0; place < 4; ++place) begun.insert(range_at(place, 11, 5, 4).shard);
  EXPECT_EQ(begun, (std::set<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(range_at(4 * 5, 11, 5, 4).shard, 4);
  EXPECT_EQ(range_at(8 * 5 + 3, 11, 5, 4).shard, 8);  // the last three
}

}  // namespace
}  // namespace smelt
