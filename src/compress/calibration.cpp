#include "compress/calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace smelt::compress {
namespace {

constexpr double kPercentile = 0.99999, kLargestCode = 127;
constexpr std::size_t kLevels = 128;
constexpr int kShrinkSteps = 100, kLeastShrink = 20;  // hundredths

double percentile(const AbsHistogram& h) {
  const auto all = std::accumulate(h.counts.begin(), h.counts.end(), 0.0);
  double below = 0;
  std::size_t bin = 0;
  for (; bin + 1 < h.bins(); ++bin) {
    below += static_cast<double>(h.counts[bin]);
    if (below / all >= kPercentile) break;
  }
  return static_cast<double>(std::max<std::size_t>(bin, 1)) * h.width;
}

// Returns the KL divergence between the first `bins` bins, with clipped values in the last, and
// their quantization; infinity if a nonzero bin is quantized to nothing.
double divergence(const std::vector<double>& counts, std::size_t bins, double beyond) {
  std::array<double, kLevels> sums{}, nonzero_bins{};
  const auto level = [&](std::size_t bin) { return bin * kLevels / bins; };
  double all = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    all += counts[i];
    sums[level(i)] += counts[i];
    nonzero_bins[level(i)] += counts[i] > 0 ? 1 : 0;
  }
  double out = 0;
  for (std::size_t i = 0; i < bins; ++i) {
    const double p = (counts[i] + (i + 1 == bins ? beyond : 0)) / (all + beyond);
    if (p == 0) continue;
    if (counts[i] == 0) return std::numeric_limits<double>::infinity();
    out += p * std::log(p / (sums[level(i)] / nonzero_bins[level(i)] / all));
  }
  return out;
}

double entropy(const AbsHistogram& h) {
  std::vector<double> counts(h.counts.begin(),
                             h.counts.begin() + static_cast<std::ptrdiff_t>(h.bins()));
  CHECK(counts.size() > kLevels, counts.size());
  counts[0] = counts[1];
  double beyond = std::accumulate(counts.begin() + kLevels, counts.end(), 0.0);
  double least = std::numeric_limits<double>::infinity();
  std::size_t found = counts.size();
  for (std::size_t bins = kLevels; bins <= counts.size(); ++bins) {
    if (const double d = divergence(counts, bins, beyond); d <= least) {
      least = d;
      found = bins;
    }
    if (bins < counts.size()) beyond -= counts[bins];
  }
  return static_cast<double>(found) * h.width;
}

double squared_error(const AbsHistogram& h, double threshold) {
  const double scale = threshold / kLargestCode;
  double out = 0;
  for (std::size_t i = 0; i < h.bins(); ++i) {
    const double x = (static_cast<double>(i) + 0.5) * h.width;
    const double error = x - std::min(std::nearbyint(x / scale), kLargestCode) * scale;
    out += static_cast<double>(h.counts[i]) * error * error;
  }
  return out;
}

double least_squared_error_threshold(const AbsHistogram& h) {
  double least = std::numeric_limits<double>::infinity(), found = h.most;
  for (int step = kShrinkSteps; step >= kLeastShrink; --step) {
    const double threshold = h.most * (static_cast<double>(step) / kShrinkSteps);
    if (const double lost = squared_error(h, threshold); lost < least) {
      least = lost;
      found = threshold;
    }
  }
  return found;
}

}  // namespace

double threshold_of(const AbsHistogram& values, Calibration by) {
  if (values.most == 0) return 0;
  switch (by) {
    case Calibration::minmax:
      return values.most;
    case Calibration::percentile:
      return percentile(values);
    case Calibration::entropy:
      return std::min<double>(entropy(values), values.most);
    case Calibration::mse:
      return least_squared_error_threshold(values);
  }
  CHECK(false, "a calibration without a rule");
  return 0;
}

float input_scale_for(double threshold) {
  return std::max(static_cast<float>(threshold / kLargestCode), 0x1p-23F);
}

}  // namespace smelt::compress
