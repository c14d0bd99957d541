// Confidence intervals and paired tests by resampling examples (Efron 1979; Koehn 2004), with
// random numbers from Philox, and McNemar's exact test of two models' correct answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace smelt::evaluation {

// A function that returns a metric over the examples with these indices, which may repeat.
using ScoreOf = std::function<double(std::span<const std::size_t> examples)>;
// Returns the metric over examples 0 to examples - 1.
double score_of_all(const ScoreOf& score, std::size_t examples);

struct ResampleOptions {
  std::int64_t samples = 1000;
  std::uint64_t seed = 0;
  double level = 0.95;
};

struct Interval {
  double value = 0;          // metric over all examples
  double low = 0, high = 0;  // bounds: quantiles of the resampled metric, ignoring NaN
};
// Returns the bootstrap confidence interval of a metric; needs at least one example.
Interval bootstrap(std::size_t examples, const ScoreOf& score, const ResampleOptions& options = {});

struct PairedTest {
  Interval difference;  // first minus second
  double p_value = 1;   // two-sided p-value; null hypothesis: no difference
};
// Tests whether two metrics differ, by the bootstrap on the same resampled examples.
PairedTest paired_bootstrap(std::size_t examples, const ScoreOf& first, const ScoreOf& second,
                            const ResampleOptions& options = {});

// Returns the exact two-sided p-value, from the numbers of examples that only the first model and
// only the second model predicts correctly.
double mcnemar(std::int64_t only_first, std::int64_t only_second);

}  // namespace smelt::evaluation
