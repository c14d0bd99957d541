// What a run starts from: a checkpoint of its own, given weights or fresh ones.
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "execution/train_state/initial_weights.h"
#include "execution/train_state/model_state.h"
#include "train/kept_states.h"
#include "train/spike_record.h"
#include "train/trainer.h"

namespace smelt {

// In a checkpoint's settings.
inline constexpr const char* kUnchecked = "unchecked";
// Likewise: the validations since the best one.
inline constexpr const char* kSinceBest = "checks_since_best";

struct InitialState {
  std::optional<ModelState> state;      // of a checkpoint; empty for a new run
  std::optional<InitialWeights> taken;  // for a new run's state
  std::int64_t step = 0;
  std::int64_t steps_before = 0;       // of the run that the weights are of, where they count
  SpikeRecord spikes;                  // of a checkpoint
  bool unchecked = false;              // its check was due, and cut off by a signal
  std::int64_t since_best = 0;         // validations of a checkpoint's run since its best one
  std::optional<BestState> best = {};  // by job.checkpoint.best_metric, as of the checkpoint
  bool records_best = false;  // whether the checkpoint records `best`, or that there is none
  // Whether there is a step or a check to make.
  bool has_work(const TrainJob& job) const {
    const bool ended = job.early_stopping.patience > 0 && since_best >= job.early_stopping.patience;
    return unchecked || (step < job.config.schedule.total_steps && !ended);
  }
  bool is_saved() const { return state.has_value(); }
};

// How many of a run's parameters given weights have, and how many they have not.
struct InitialValues {
  std::size_t taken = 0, fresh = 0;
};
// Of the weights at `init` for a run of the task, as resolve_initial_state() would take them:
// UsageError for other shapes, a warning for a vocabulary other than the file `vocab` (empty: any).
InitialValues initial_values(const std::string& init, const Task& task, const StateLayout& layout,
                             const std::string& vocab);

// Checks that a run that has made its last step, or is out of patience, was trained with the
// schedule and spike settings of this job, as none of its steps would be made with others. Accepts
// all for a checkpoint of step 0. Throws a UsageError that names what differs. `settings` are the
// job's.
void check_finished_run(const TrainJob& job, const SavedState& saved, const Json& settings);

// UsageError where the model folder holds a checkpoint and a fresh run is wanted, or none and one
// is to be resumed.
void check_begin(ResumeMode begin, const std::string& model_dir);

// UsageError where a run that begins anew would remove the weights that it begins with.
void check_weights_stay(const std::string& init, const std::string& model_dir, bool overwrite);

// A hint: how the run that was stopped goes on.
std::string how_to_go_on(const TrainJob& job);

// `settings` (run_settings()) are what a checkpoint must have been made with; where the weights are
// from is added to them.
InitialState resolve_initial_state(const TrainJob& job, const StepProgram& program,
                                   const Client& client, Json& settings);

}  // namespace smelt
