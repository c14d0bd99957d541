#include "data/permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace smelt {
namespace {

std::vector<std::uint64_t> all(const Permutation& permutation, std::uint64_t size) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < size; ++i) out.push_back(permutation(i));
  return out;
}

TEST(Permutation, TakesEveryValueExactlyOnceForEverySize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    std::vector<int> seen(size, 0);
    for (const std::uint64_t value : all(Permutation(size, 7, size % 5), size)) {
      ASSERT_LT(value, size);
      ++seen[value];
    }
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], 1) << i << " of " << size;
  }
}

TEST(Permutation, DependsOnKeyAndNumberAndNothingElse) {
  const auto first = all(Permutation(1000, 1, 0), 1000);
  EXPECT_EQ(first, all(Permutation(1000, 1, 0), 1000));
  EXPECT_NE(first, all(Permutation(1000, 1, 1), 1000));
  EXPECT_NE(first, all(Permutation(1000, 2, 0), 1000));
}

// Neighbours must part: for independent uniform values the mean distance is a third of the size,
// with a standard deviation of 0.24 / sqrt(10000) of it for the mean.
TEST(Permutation, SendsNeighboursFarApart) {
  constexpr std::uint64_t kSize = 10000;
  const auto values = all(Permutation(kSize, 12345, 0), kSize);
  double distance = 0;
  for (std::uint64_t i = 1; i < kSize; ++i)
    distance += values[i] > values[i - 1] ? values[i] - values[i - 1] : values[i - 1] - values[i];
  EXPECT_NEAR(distance / kSize / kSize, 1.0 / 3, 0.012);
}

// Over the 24 orders of four records, 24000 permutations: chi-square with 23 degrees of freedom
// stays below 49.7 with probability 0.999.
TEST(Permutation, OrdersOfFewRecordsAreAboutEquallyLikely) {
  std::vector<int> counts(256, 0);
  for (std::uint64_t number = 0; number < 24000; ++number) {
    std::uint64_t code = 0;
    for (const std::uint64_t value : all(Permutation(4, 99, number), 4)) code = code * 4 + value;
    ++counts[code];
  }
  double chi_square = 0;
  int orders = 0;
  for (const int count : counts) {
    if (count == 0) continue;
    ++orders;
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_EQ(orders, 24);
  EXPECT_LT(chi_square, 49.7);
}

}  // namespace
}  // namespace smelt
