// Batches by length: each example once an epoch, little padding, cut to their tokens.
#include "data/length_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace smelt {
namespace {

constexpr std::uint64_t kSize = 4;

// Lengths that come in no order.
std::uint64_t tokens_at(std::uint64_t position) { return 1 + position * 37 % 101; }

TEST(LengthGroups, AGroupOfBatchesHoldsEachOfItsExamplesOnce) {
  const LengthGroups groups{.tokens = "input_mask", .lengths = {32, 64}, .key = 7};
  for (const std::uint64_t group : {0u, 3u}) {
    std::set<std::uint64_t> seen;
    std::uint64_t padded = 0;
    for (std::uint64_t i = 0; i < kGroupedBatches; ++i) {
      const auto batch = positions_by_length(group * kGroupedBatches + i, kSize, groups, tokens_at);
      ASSERT_EQ(batch.size(), kSize);
      seen.insert(batch.begin(), batch.end());
      std::uint64_t longest = 0, all = 0;
      for (const std::uint64_t position : batch) {
        longest = std::max(longest, tokens_at(position));
        all += tokens_at(position);
      }
      padded += longest * kSize - all;
    }
    EXPECT_EQ(seen.size(), kGroupedBatches * kSize);
    EXPECT_EQ(*seen.begin(), group * kGroupedBatches * kSize);
    EXPECT_EQ(*seen.rbegin(), (group + 1) * kGroupedBatches * kSize - 1);
    EXPECT_LT(padded, 2 * kGroupedBatches * kSize);  // at random 40 a row
  }
}

TEST(LengthGroups, TheBatchesOfAGroupComeInAnOrderOfTheirOwn) {
  const LengthGroups groups{.tokens = "input_mask", .lengths = {32, 64}, .key = 7};
  std::vector<std::uint64_t> longest;
  for (std::uint64_t step = 0; step < kGroupedBatches; ++step) {
    const auto batch = positions_by_length(step, kSize, groups, tokens_at);
    longest.push_back(tokens_at(batch.front()));
  }
  EXPECT_FALSE(std::ranges::is_sorted(longest));
  LengthGroups other = groups;
  other.key = 8;
  EXPECT_NE(positions_by_length(0, kSize, groups, tokens_at),
            positions_by_length(0, kSize, other, tokens_at));
}

TEST(LengthGroups, ABatchIsCutToTheShortestLengthThatHoldsItsTokens) {
  const Features features{{.name = "ids", .row = {6}, .limit = 9},
                          {.name = "mask", .row = {6}, .limit = 2},
                          {.name = "label", .row = {}, .limit = 2}};
  const LengthGroups groups{.tokens = "mask", .lengths = {2, 4, 6}};
  Batch batch = empty_batch(features, 2);
  const auto put = [&](std::size_t row, std::size_t tokens) {
    for (std::size_t i = 0; i < tokens; ++i) {
      batch.arrays[0].values<std::int32_t>()[6 * row + i] = static_cast<std::int32_t>(i + 1);
      batch.arrays[1].values<std::int32_t>()[6 * row + i] = 1;
    }
  };
  put(0, 1);
  put(1, 3);
  const Batch cut = cut_to_tokens(batch, features, groups);
  EXPECT_EQ(cut.arrays[0].shape.dims, (Dims{2, 4}));
  const auto ids = cut.arrays[0].values<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()),
            (std::vector<std::int32_t>{1, 0, 0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(cut.arrays[2].shape.dims, Dims{2});
  EXPECT_EQ(with_length(cut, features, 6, 6).arrays[0].bytes, batch.arrays[0].bytes);
  put(0, 5);
  EXPECT_EQ(cut_to_tokens(batch, features, groups).arrays[0].shape.dims, (Dims{2, 6}));
}

TEST(LengthGroups, LengthsAreNearTheExamplesOwn) {
  EXPECT_EQ(lengths_for({}, 64), (std::vector<std::int64_t>{64}));
  EXPECT_EQ(lengths_for(std::vector<std::int64_t>(10, 5), 64), (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(lengths_for(std::vector<std::int64_t>(10, 60), 64), (std::vector<std::int64_t>{64}));
  std::vector<std::int64_t> even;
  for (std::int64_t i = 1; i <= 100; ++i) even.push_back(i);
  EXPECT_EQ(lengths_for(even, 128), (std::vector<std::int64_t>{32, 64, 96, 128}));
}

}  // namespace
}  // namespace smelt
