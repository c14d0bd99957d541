// Latency and loading time of models, measured side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/metrics/resample.h"
#include "pipeline/compression/asked_rows.h"

namespace smelt::pipeline {

// Batch sizes and sequence lengths to measure.
struct LatencyJob {
  std::vector<std::int64_t> batches{1, 8, 32}, lengths{32, 128, 384};
  std::int64_t rounds = 20;
  bool lengths_told = false;  // whether the user set `lengths`; too long ones are then an error
};

// Returns the job with default lengths limited to `most_tokens`. Throws UsageError if a length that
// the user set is out of range, or a batch size or the number of rounds is below 1.
LatencyJob sizes_within(LatencyJob job, std::int64_t most_tokens);

// Measurements of one model at one batch size and length.
struct Latency {
  std::int64_t batch = 0, length = 0;
  std::vector<double> seconds = {};  // one per round

  // Returns the quantile `share` (0 to 1) of `seconds`, without interpolation.
  double quantile(double share) const;
};

// Measures each model at each length and batch size. Returns results by model, then by length and
// batch size. In each round every model runs once, and each round starts with another model, so
// that other load on the machine affects all models alike. Two warm-up rounds are not counted.
std::vector<std::vector<Latency>> latencies(std::span<ComparedModel> models, const LatencyJob& job);

// Returns how many times as fast as `base` the other model is: the median ratio over the rounds,
// with an interval from resampling the rounds.
evaluation::Interval speed_up(const Latency& base, const Latency& other);

// Returns the seconds to load all weights of a folder from its files to the device, without
// optimizer state, vocabulary, device start or compilation.
double seconds_of_weights(const std::string& folder, const std::string& device);

// Time and memory of a separate process that only loads a model and runs one batch.
struct Loaded {
  double seconds = 0;  // until the model is in host memory
  double bytes = 0;    // peak memory of the process
};
// Returns the path of this program; empty if it is not named smelt, as in a test.
std::string own_program();

// Runs `smelt compress load` `loads` times for each folder, alternating between them. Returns the
// median time and the peak memory of each.
std::vector<Loaded> load_each(const std::string& smelt, const std::vector<std::string>& folders,
                              const std::string& device, const LatencyJob& job,
                              std::int64_t answer_tokens, int loads);

}  // namespace smelt::pipeline
