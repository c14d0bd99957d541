#include "evaluation/metrics/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/philox.h"

namespace smelt::evaluation {
namespace {

// Returns a quantile with linear interpolation, like numpy.quantile; `sorted` is not empty.
double quantile(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

struct Resampled {
  Interval interval;
  std::vector<double> scores;  // sorted, without NaN
};

Resampled resample(std::size_t examples, const ScoreOf& score, const ResampleOptions& options) {
  if (examples == 0)
    throw UsageError("scores: the list of examples is empty", "give at least one prediction");
  std::vector<std::size_t> drawn(examples);
  std::iota(drawn.begin(), drawn.end(), 0);
  Resampled out;
  out.interval.value = score(drawn);
  const std::uint64_t key = random_key(options.seed, "bootstrap");
  for (std::int64_t s = 0; s < options.samples; ++s) {
    for (std::size_t i = 0; i < examples; ++i) {
      const auto bits = philox(key, i, static_cast<std::uint64_t>(s));
      const double uniform =
          (static_cast<double>(bits[0]) * 0x1p-32 + static_cast<double>(bits[1] >> 11) * 0x1p-53);
      drawn[i] =
          std::min(examples - 1, static_cast<std::size_t>(uniform * static_cast<double>(examples)));
    }
    if (const double value = score(drawn); !std::isnan(value)) out.scores.push_back(value);
  }
  std::ranges::sort(out.scores);
  out.interval.low = out.interval.high = out.interval.value;
  if (!out.scores.empty()) {
    out.interval.low = quantile(out.scores, (1 - options.level) / 2);
    out.interval.high = quantile(out.scores, (1 + options.level) / 2);
  }
  return out;
}

}  // namespace

double score_of_all(const ScoreOf& score, std::size_t examples) {
  std::vector<std::size_t> each(examples);
  std::iota(each.begin(), each.end(), std::size_t{0});
  return score(each);
}

Interval bootstrap(std::size_t examples, const ScoreOf& score, const ResampleOptions& options) {
  return resample(examples, score, options).interval;
}

PairedTest paired_bootstrap(std::size_t examples, const ScoreOf& first, const ScoreOf& second,
                            const ResampleOptions& options) {
  const Resampled all = resample(
      examples, [&](std::span<const std::size_t> e) { return first(e) - second(e); }, options);
  const auto sides = [&](auto wrong) {
    const auto n = static_cast<double>(std::ranges::count_if(all.scores, wrong));
    return (n + 1) / (static_cast<double>(all.scores.size()) + 1);
  };
  const double p =
      2 * std::min(sides([](double d) { return d <= 0; }), sides([](double d) { return d >= 0; }));
  return {all.interval, std::min(1.0, p)};
}

double mcnemar(std::int64_t only_first, std::int64_t only_second) {
  const std::int64_t n = only_first + only_second, k = std::min(only_first, only_second);
  double tail = 0;  // lower tail of the binomial distribution with p = 1/2
  for (std::int64_t i = 0; i <= k; ++i)
    tail += std::exp(
        std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(i + 1)) -
        std::lgamma(static_cast<double>(n - i + 1)) - static_cast<double>(n) * std::log(2.0));
  return std::min(1.0, 2 * tail);
}

}  // namespace smelt::evaluation
