#include "compress/abs_histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace smelt::compress {
namespace {

// Returns 2^(e+1) / 2048 for a largest value in [2^e, 2^(e+1)).
double width_of_bins(float most) {
  return most == 0
             ? 0
             : std::ldexp(2.0 / static_cast<double>(AbsHistogram::kMostBins), std::ilogb(most));
}

void widen(AbsHistogram& h, double width) {
  if (h.width > 0 && width > h.width) {
    constexpr int kAll = std::numeric_limits<std::int64_t>::digits - 1;
    const int halvings = std::min(std::ilogb(width / h.width), kAll);
    for (std::size_t i = 1; i < h.counts.size(); ++i)
      h.counts[i >> halvings] += std::exchange(h.counts[i], 0);
  }
  h.width = std::max(h.width, width);
}

}  // namespace

void AbsHistogram::add(std::span<const float> values) {
  for (const float x : values)
    most = std::isfinite(x) ? std::max(most, x) : std::numeric_limits<float>::infinity();
  if (!std::isfinite(most)) return;
  widen(*this, width_of_bins(most));
  const double bins_of_one = width > 0 ? 1 / width : 0;
  for (const float x : values)
    if (x >= 0) ++counts[static_cast<std::size_t>(static_cast<double>(x) * bins_of_one)];
}

std::size_t AbsHistogram::bins() const {
  return width > 0 ? static_cast<std::size_t>(static_cast<double>(most) / width) + 1 : 1;
}

}  // namespace smelt::compress
