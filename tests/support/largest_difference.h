// The largest difference between two lists of numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ranges>

#include "base/error.h"

namespace smelt {

// Returns the largest |a[i] - b[i]| of two lists of equal length. Returns NaN, which is within no
// tolerance, if any difference is NaN: std::max would ignore it.
double largest_difference(const std::ranges::random_access_range auto& a,
                          const std::ranges::random_access_range auto& b) {
  CHECK(std::ranges::size(a) == std::ranges::size(b), std::ranges::size(a), " and ",
        std::ranges::size(b), " numbers");
  double largest = 0;
  for (std::size_t i = 0; i < std::ranges::size(a); ++i) {
    const double x = a[i], y = b[i];
    if (x == y) continue;  // also for infinities
    const double difference = std::abs(x - y);
    if (std::isnan(difference)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace smelt
