// How long models take side by side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "evaluation/metrics/resample.h"
#include "pipeline/asked_rows.h"

namespace smelt {

struct LatencyJob {
  std::vector<std::int64_t> batches{1, 8, 32}, lengths{32, 128, 384};
  std::int64_t rounds = 20;
  bool lengths_told = false;  // by a user, who hears of one that a model does not take
};

// A length that a model of at most so many tokens does not take is, where nobody told it, that
// number instead. UsageError for one that a user told, for a batch of nothing, and no rounds.
LatencyJob sizes_within(LatencyJob job, std::int64_t most_tokens);

// Texts of one size, through one model.
struct Latency {
  std::int64_t batch = 0, length = 0;
  std::vector<double> seconds = {};  // of each round

  double quantile(double share) const;  // of the rounds, the nearest that was measured
};

// By model, and then by length and batch. In each round each model has its turn, another one the
// first; two turns of each before that are not counted. So what else the machine does meanwhile
// meets all of them.
std::vector<std::vector<Latency>> latencies(std::span<AskedModel> models, const LatencyJob& job);

// How many times as fast as `base` was in the same rounds: the median of the rounds' ratios, with
// its interval by resampling the rounds.
Interval speed_up(const Latency& base, const Latency& other);

// From the files to the device, of all weights of a folder and nothing else: no slots, no
// vocabulary, no client, no program.
double seconds_of_weights(const std::string& folder, const std::string& device);

// Of a process of its own that only loads this model and answers a batch: by the program `smelt`,
// as `smelt compress load` prints it. The median time of `loads` processes for each, by turns, and
// their most memory.
struct Loaded {
  double seconds = 0;  // until the model is in memory, though not on the device
  double bytes = 0;    // the most that the process held
};
// This program's file, to be given there; empty where it is not called smelt, as a test is.
std::string own_program();

std::vector<Loaded> load_each(const std::string& smelt, const std::vector<std::string>& folders,
                              const std::string& device, const LatencyJob& job,
                              std::int64_t answer_tokens, int loads);

}  // namespace smelt
