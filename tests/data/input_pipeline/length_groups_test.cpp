// Batches grouped by length: each example once per epoch, little padding, truncated to their
// tokens.
#include "data/input_pipeline/length_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace smelt::data {
namespace {

constexpr std::uint64_t kSize = 4;

// Returns irregular lengths.
std::uint64_t tokens_at(std::uint64_t position) { return 1 + position * 37 % 101; }

constexpr std::uint64_t kEpoch = 1000;  // examples

std::vector<std::uint64_t> positions(std::uint64_t step, std::uint64_t key = 7) {
  const LengthGroups groups{.tokens = "input_mask", .lengths = {32, 64}, .key = key};
  return positions_by_length(step, kSize, kEpoch, groups, tokens_at);
}

TEST(LengthGroups, EpochContainsEachExampleOnceWithLittlePadding) {
  for (const std::uint64_t epoch : {0u, 3u}) {
    std::set<std::uint64_t> seen;
    std::uint64_t padded = 0;
    for (std::uint64_t i = 0; i < kEpoch / kSize; ++i) {
      const auto batch = positions(epoch * kEpoch / kSize + i);
      ASSERT_EQ(batch.size(), kSize);
      seen.insert(batch.begin(), batch.end());
      std::uint64_t longest = 0, all = 0;
      for (const std::uint64_t position : batch) {
        longest = std::max(longest, tokens_at(position));
        all += tokens_at(position);
      }
      padded += longest * kSize - all;
    }
    EXPECT_EQ(seen.size(), kEpoch);
    EXPECT_EQ(*seen.begin(), epoch * kEpoch);
    EXPECT_EQ(*seen.rbegin(), (epoch + 1) * kEpoch - 1);
    EXPECT_LT(padded, 2 * kEpoch);  // random batches would pad each row by 40
  }
}

// For all sizes, each position occurs once in each of five epochs, and no example occurs twice in a
// batch unless the batch spans two epochs.
TEST(LengthGroups, NoExampleOccursTwiceInABatch) {
  for (const std::uint64_t examples : {3u, 8u, 40u, 264u, 1051u})
    for (const std::uint64_t size : {1u, 8u, 32u}) {
      const LengthGroups groups{.tokens = "input_mask", .lengths = {32, 64}, .key = 7};
      std::set<std::uint64_t> seen;
      std::uint64_t largest = 1;
      const std::uint64_t steps = 5 * examples / size;
      for (std::uint64_t step = 0; step < steps; ++step) {
        const auto batch = positions_by_length(step, size, examples, groups, tokens_at);
        seen.insert(batch.begin(), batch.end());
        largest = std::max(largest, step_group(step, size, examples).count);
        std::set<std::uint64_t> records;
        for (const std::uint64_t position : batch) records.insert(position % examples);
        if (batch.front() / examples != batch.back() / examples) continue;
        EXPECT_EQ(records.size(), size) << examples << " " << size << " " << step;
      }
      EXPECT_EQ(seen.size(), steps * size) << examples << " " << size;
      EXPECT_LE(largest, std::max<std::uint64_t>(1, examples / size / 4));
      EXPECT_LE(largest, kGroupedBatches);
    }
}

TEST(LengthGroups, ShufflesTheBatchesOfAGroup) {
  std::vector<std::uint64_t> longest;
  for (std::uint64_t step = 0; step < step_group(0, kSize, kEpoch).count; ++step)
    longest.push_back(tokens_at(positions(step).front()));
  EXPECT_GT(longest.size(), 20u);
  EXPECT_FALSE(std::ranges::is_sorted(longest));
  EXPECT_NE(positions(0), positions(0, 8));
}

TEST(LengthGroups, TruncatesABatchToTheShortestSufficientLength) {
  const io::Features features{{.name = "ids", .row = {6}, .limit = 9},
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
  EXPECT_EQ(cut.arrays[0].shape.dims, (compiler::Dims{2, 4}));
  const auto ids = cut.arrays[0].values<std::int32_t>();
  EXPECT_EQ(std::vector<std::int32_t>(ids.begin(), ids.end()),
            (std::vector<std::int32_t>{1, 0, 0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(cut.arrays[2].shape.dims, compiler::Dims{2});
  EXPECT_EQ(with_length(cut, features, 6, 6).arrays[0].bytes, batch.arrays[0].bytes);
  put(0, 5);
  EXPECT_EQ(cut_to_tokens(batch, features, groups).arrays[0].shape.dims, (compiler::Dims{2, 6}));
}

TEST(LengthGroups, ChoosesLengthsNearTheExampleLengths) {
  EXPECT_EQ(lengths_for({}, 64), (std::vector<std::int64_t>{64}));
  EXPECT_EQ(lengths_for(std::vector<std::int64_t>(10, 5), 64), (std::vector<std::int64_t>{16, 64}));
  EXPECT_EQ(lengths_for(std::vector<std::int64_t>(10, 60), 64), (std::vector<std::int64_t>{64}));
  std::vector<std::int64_t> even;
  for (std::int64_t i = 1; i <= 100; ++i) even.push_back(i);
  EXPECT_EQ(lengths_for(even, 128), (std::vector<std::int64_t>{32, 64, 96, 128}));
}

}  // namespace
}  // namespace smelt::data
