// The life of a pre-training run: data, compile, restore or initialise, steps, checkpoints,
// metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "train/pretraining.h"

namespace smelt {

struct PretrainJob {
  PretrainingConfig config;  // schedule.total_steps is where the run ends
  std::string device = "cpu";
  std::string
      data;  // TFRecord files or patterns, comma separated; a description beside them must fit
  std::string vocab;      // the data's vocabulary, if known: it must be what the description says
  std::string model_dir;  // checkpoints; the newest whole one is resumed
  std::int64_t save_every = 1000;
  std::int64_t keep = 5;
  std::int64_t log_every = 100;
};

struct PretrainSummary {
  std::int64_t first_step = 0;  // > 0 when resumed
  std::int64_t last_step = 0;
  double compile_seconds = 0, train_seconds = 0, sequences_per_second = 0;
  std::array<float, kTrainMetrics.size()> metrics{};  // of the last step
};

// Steps from the newest checkpoint (or fresh weights) to schedule.total_steps, with a checkpoint
// every save_every steps and at the end. A checkpoint is resumed only with the settings it was made
// with; steps, learning rate, devices and how often to save may change. SIGTERM or SIGINT: saves
// and throws SystemError that says how to go on. UsageError: data that do not fit the model, a
// checkpoint of another model; SystemError: a loss that is not finite, the device.
PretrainSummary pretrain(const PretrainJob& job);

}  // namespace smelt
