// What a run starts from: a checkpoint of its own, given weights or fresh ones.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "train/model_state.h"
#include "train/spikes.h"
#include "train/taken_weights.h"
#include "train/trainer.h"

namespace smelt {

struct Start {
  std::optional<ModelState> state;    // of a checkpoint; empty for a new run
  std::optional<TakenWeights> taken;  // for a new run's state
  std::int64_t step = 0;
  std::int64_t steps_before = 0;  // of the run that the weights are of, where they count
  SpikeRecord spikes;             // of a checkpoint
  bool is_saved() const { return state.has_value(); }
};

// UsageError where the model folder holds a checkpoint and a fresh run is wanted, or none and one
// is to be resumed.
void check_begin(Begin begin, const std::string& model_dir);

// `settings` (run_settings()) are what a checkpoint must have been made with; where the weights are
// from is added to them.
Start start_of(const TrainJob& job, const StepProgram& program, const Client& client,
               nlohmann::json& settings);

}  // namespace smelt
