// How sure a score is: intervals and tests by resampling examples (Efron 1979; Koehn 2004) with
// Philox's bits of a seed, and McNemar's exact test of two models' right answers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace smelt {

// A score of these examples, by their numbers; one may stand there several times.
using ScoreOf = std::function<double(std::span<const std::size_t> examples)>;
// Of each of so many examples once.
double score_of_all(const ScoreOf& score, std::size_t examples);

struct ResampleOptions {
  std::int64_t samples = 1000;
  std::uint64_t seed = 0;
  double level = 0.95;
};

struct Interval {
  double value = 0;          // of all examples
  double low = 0, high = 0;  // quantiles of the resampled score, those left out where undefined
};
// At least one example.
Interval bootstrap(std::size_t examples, const ScoreOf& score, const ResampleOptions& options = {});

struct PairedTest {
  Interval difference;  // first less second
  double p_value = 1;   // two-sided: of no difference
};
// Both scores of the same resampled examples.
PairedTest paired_bootstrap(std::size_t examples, const ScoreOf& first, const ScoreOf& second,
                            const ResampleOptions& options = {});

// Two-sided, exact: of examples that only the first model has right and only the second.
double mcnemar(std::int64_t only_first, std::int64_t only_second);

}  // namespace smelt
