// How large values are, counted as they come: what it holds does not grow with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct AbsHistogram {
  static constexpr std::size_t kMostBins = 2048;

  // Values of |x| within [k, k + 1) * width. The width is the least power of two by which the
  // largest value has a bin, so that counts do not depend on the order in which values come: as the
  // range grows, neighbours are added up.
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(kMostBins);
  double width = 0;  // 0: all values so far are 0
  float most = 0;    // the largest; infinite once one was not finite, and nothing is counted then

  // Values of |x|; those below 0 are none.
  void add(std::span<const float> values);
  // Up to the largest value's.
  std::size_t bins() const;
};

}  // namespace smelt
