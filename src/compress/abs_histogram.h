// A histogram of absolute values with a fixed amount of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace smelt::compress {

// Counts of |x| in bins of equal width.
struct AbsHistogram {
  static constexpr std::size_t kMostBins = 2048;

  // counts[k] is the number of values with |x| in [k, k + 1) * width. The width is the smallest
  // power of two for which kMostBins bins include the largest value. If a larger value is added,
  // neighboring bins are merged, so the counts do not depend on the order of the values.
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(kMostBins);
  double width = 0;  // 0 while all values are 0
  // The largest value, or infinity if a value was not finite. Nothing more is counted after that.
  float most = 0;

  // Adds values of |x|. Ignores negative values, which mark padding.
  void add(std::span<const float> values);
  // Returns the number of bins up to that of the largest value.
  std::size_t bins() const;
};

}  // namespace smelt::compress
