#include "support/largest_difference.h"

#include <gtest/gtest.h>

#include <vector>

namespace smelt {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Doubles = std::vector<double>;

TEST(LargestDifference, IsTheMaximumOverAllPairs) {
  EXPECT_EQ(largest_difference(Doubles{1, 2, 3}, Doubles{1, -2, 3.5}), 4);
  EXPECT_EQ(largest_difference(Doubles{kInf, 1}, Doubles{kInf, 1}), 0);
  EXPECT_EQ(largest_difference(Doubles{kInf}, Doubles{1}), kInf);
  EXPECT_EQ(largest_difference(Doubles{}, Doubles{}), 0);
}

TEST(LargestDifference, IsNanIfAValueIsNan) {
  for (const auto& a : {Doubles{kNan, 1, 1}, Doubles{1, kNan, 1}, Doubles{1, 1, kNan}}) {
    EXPECT_FALSE(largest_difference(a, Doubles{1, 1, 1}) <= kInf);
    EXPECT_FALSE(largest_difference(Doubles{1, 1, 1}, a) <= kInf);
    EXPECT_FALSE(largest_difference(a, a) <= kInf);
  }
}

TEST(LargestDifference, RejectsListsOfDifferentLengths) {
  EXPECT_THROW(largest_difference(Doubles{1}, Doubles{1, 2}), BugError);
}

}  // namespace
}  // namespace smelt
