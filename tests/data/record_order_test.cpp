#include "data/record_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace smelt {
namespace {

std::vector<std::uint64_t> epoch(const RecordOrder& order, std::uint64_t records,
                                 std::uint64_t number) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < records; ++i) out.push_back(order(number * records + i));
  return out;
}

TEST(RecordOrder, EveryEpochHoldsEveryRecordOnceInAnotherOrder) {
  for (const std::uint64_t block : {1, 4, 16})
    for (const std::uint64_t records :
         {1, 2, 15, 16, 17, 63, 64, 65, 255, 1023, 1024, 1025, 3000}) {
      const RecordOrder order(records, block, 5);
      std::vector<std::uint64_t> every(records);
      std::iota(every.begin(), every.end(), 0);
      std::vector<std::uint64_t> before;
      for (std::uint64_t number = 0; number < 3; ++number) {
        auto drawn = epoch(order, records, number);
        EXPECT_TRUE(records <= 10 || drawn != before) << records << " in blocks of " << block;
        before = drawn;
        std::ranges::sort(drawn);
        ASSERT_EQ(drawn, every) << records << " in blocks of " << block;
      }
    }
}

// What makes it cheap to read: as many records as a group has lie in as few blocks.
TEST(RecordOrder, AGroupsRecordsLieInItsBlocks) {
  constexpr std::uint64_t kBlock = 16, kRecords = 5 * kGroupBlocks * kBlock + 7;
  const auto drawn = epoch(RecordOrder(kRecords, kBlock, 1), kRecords, 0);
  for (std::uint64_t first = 0; first < kRecords; first += kGroupBlocks * kBlock) {
    std::set<std::uint64_t> blocks;
    for (std::uint64_t i = first; i < std::min(kRecords, first + kGroupBlocks * kBlock); ++i)
      blocks.insert(drawn[i] / kBlock);
    EXPECT_LE(blocks.size(), kGroupBlocks);
    if (first + kGroupBlocks * kBlock > kRecords) break;
    EXPECT_GT(*blocks.rbegin() - *blocks.begin(), 2 * kGroupBlocks) << "they are from everywhere";
    std::set<std::uint64_t> soon;
    for (std::uint64_t i = first; i < first + 4 * kGroupBlocks; ++i) soon.insert(drawn[i] / kBlock);
    EXPECT_GT(soon.size(), kGroupBlocks * 9 / 10) << "a few records meet nearly all of its blocks";
  }
}

TEST(RecordOrder, DependsOnTheKey) {
  EXPECT_NE(epoch(RecordOrder(1000, 4, 1), 1000, 0), epoch(RecordOrder(1000, 4, 2), 1000, 0));
  EXPECT_EQ(epoch(RecordOrder(1000, 4, 1), 1000, 7), epoch(RecordOrder(1000, 4, 1), 1000, 7));
}

}  // namespace
}  // namespace smelt
