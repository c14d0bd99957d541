#include "data/input_pipeline/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace smelt::data {
namespace {

std::vector<std::uint64_t> all(const Permutation& permutation, std::uint64_t size) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < size; ++i) out.push_back(permutation(i));
  return out;
}

TEST(Permutation, ContainsEveryValueExactlyOnceForEverySize) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    std::vector<int> seen(size, 0);
    for (const std::uint64_t value : all(Permutation(size, 7, size % 5), size)) {
      ASSERT_LT(value, size);
      ++seen[value];
    }
    for (std::uint64_t i = 0; i < size; ++i) ASSERT_EQ(seen[i], 1) << i << " of " << size;
  }
}

TEST(Permutation, DependsOnlyOnKeyAndNumber) {
  const auto first = all(Permutation(1000, 1, 0), 1000);
  EXPECT_EQ(first, all(Permutation(1000, 1, 0), 1000));
  EXPECT_NE(first, all(Permutation(1000, 1, 1), 1000));
  EXPECT_NE(first, all(Permutation(1000, 2, 0), 1000));
}

// Adjacent values must be separated. For independent uniform values the mean distance is a third of
// the size, and the mean has a standard deviation of 0.24 / sqrt(10000) of it.
TEST(Permutation, SeparatesAdjacentValues) {
  constexpr std::uint64_t kSize = 10000;
  const auto values = all(Permutation(kSize, 12345, 0), kSize);
  double distance = 0;
  for (std::uint64_t i = 1; i < kSize; ++i)
    distance += values[i] > values[i - 1] ? values[i] - values[i - 1] : values[i - 1] - values[i];
  EXPECT_NEAR(distance / kSize / kSize, 1.0 / 3, 0.012);
}

// All orders of a few records are equally likely: 1000 permutations each; chi-square must be below
// its 99.9 % quantile.
TEST(Permutation, AllOrdersOfFewRecordsAreEquallyLikely) {
  const auto check = [](std::uint64_t size, std::size_t orders, double most) {
    std::map<std::vector<std::uint64_t>, int> counts;
    for (std::uint64_t number = 0; number < 1000 * orders; ++number)
      ++counts[all(Permutation(size, 99, number), size)];
    double chi_square = 0;
    for (const auto& [order, count] : counts)
      chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_EQ(counts.size(), orders);
    EXPECT_LT(chi_square, most) << size;
  };
  check(2, 2, 10.8);
  check(3, 6, 20.5);
  check(4, 24, 49.7);
  check(5, 120, 171.4);
  check(6, 720, 840.0);
}

// Includes values outside the range, which the network skips.
TEST(Permutation, EachValueIsUniformlyDistributedOverAllPositions) {
  for (const std::uint64_t size : {16, 17, 23, 32}) {
    constexpr double kEach = 500;
    std::vector<std::vector<double>> counts(size, std::vector<double>(size));
    for (std::uint64_t number = 0; number < 500 * size; ++number) {
      const Permutation permutation(size, 3, number);
      for (std::uint64_t i = 0; i < size; ++i) ++counts[i][permutation(i)];
    }
    double chi_square = 0;
    for (const auto& row : counts)
      for (const double count : row) chi_square += (count - kEach) * (count - kEach) / kEach;
    const double freedom = static_cast<double>((size - 1) * (size - 1));
    EXPECT_LT(chi_square, freedom + 3.1 * std::sqrt(2 * freedom)) << size;
  }
}

}  // namespace
}  // namespace smelt::data
