#include "execution/inference/best_score.h"

#include <gtest/gtest.h>

#include <cmath>

namespace smelt::execution {
namespace {

TEST(BestScore, PrefersLowerLossesAndHigherValuesOfOtherMetrics) {
  EXPECT_EQ(best_of("valid_loss"), Best::lowest);
  EXPECT_EQ(best_of("squared_error"), Best::lowest);
  EXPECT_EQ(best_of("bits_per_character"), Best::lowest);
  EXPECT_EQ(best_of("masked_lm_accuracy"), Best::highest);
  BestScore low(Best::lowest), high(Best::highest, 0.5);
  EXPECT_TRUE(low.is_improved_by(2.0));
  low.keep(2);
  EXPECT_TRUE(low.is_improved_by(1.5));
  for (const double no_better : {2.0, 2.5, std::nan(""), -HUGE_VAL})
    EXPECT_FALSE(low.is_improved_by(no_better)) << no_better;
  EXPECT_TRUE(high.is_improved_by(0.6));
  for (const double no_better : {0.5, 0.4, std::nan(""), HUGE_VAL})
    EXPECT_FALSE(high.is_improved_by(no_better)) << no_better;
  EXPECT_FALSE(high.is_improved_by({.name = "x", .value = 0.6, .weight = 0}));
  EXPECT_TRUE(high.is_improved_by({.name = "x", .value = 0.6, .weight = 1}));
}

TEST(BestScore, RestoresThePreviousBestIfASaveFails) {
  BestScore best(Best::highest, 1);
  best.keep(3);
  EXPECT_FALSE(best.is_improved_by(2.0));
  best.take_back();
  EXPECT_EQ(best.value(), 1);
  EXPECT_TRUE(best.is_improved_by(2.0));
}

}  // namespace
}  // namespace smelt::execution
