// The initial state of a run: one of its own checkpoints, pretrained weights or random weights.
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

namespace smelt::train {

// Field of a checkpoint's settings: the evaluation of its step was interrupted by a signal and must
// be repeated.
inline constexpr const char* kUnchecked = "unchecked";
// Field of a checkpoint's settings: the number of evaluations since the best one.
inline constexpr const char* kSinceBest = "checks_since_best";

struct InitialState {
  std::optional<execution::ModelState> state;      // from a checkpoint; nullopt for a new run
  std::optional<execution::InitialWeights> taken;  // pretrained weights of a new run, if any
  std::int64_t step = 0;
  // If `step` continues the step count of the pretrained weights (TrainJob::take_step): the step at
  // which this run began. Otherwise 0.
  std::int64_t steps_before = 0;
  SpikeRecord spikes;                  // from the checkpoint
  bool unchecked = false;              // the evaluation of its step was interrupted by a signal
  std::int64_t since_best = 0;         // evaluations since the best one
  double trained_seconds = 0;          // training time, if the length of the run is a time
  std::optional<BestState> best = {};  // best evaluation recorded in the checkpoint
  // whether the checkpoint records the best state so far, or its absence
  bool records_best = false;
  // Returns whether a step or an evaluation is left.
  bool has_work(const TrainJob& job) const {
    const bool ended = job.early_stopping.patience > 0 && since_best >= job.early_stopping.patience;
    const bool is_last =
        job.seconds > 0 ? trained_seconds >= job.seconds : step >= job.config.schedule.total_steps;
    return unchecked || (!is_last && !ended);
  }
  bool is_saved() const { return state.has_value(); }
};

// Numbers of a run's parameters with pretrained values (`taken`) and with random ones (`fresh`).
struct InitialValues {
  std::size_t taken = 0, fresh = 0;
};
// Counts the parameters that the pretrained weights at `init` provide for a run of the task. Throws
// UsageError if shapes differ, and warns if the vocabulary differs from the file `vocab` (empty:
// not checked).
InitialValues initial_values(const std::string& init, const model::Task& task,
                             const model::StateLayout& layout, const std::string& vocab);

// Throws UsageError that names the differences if a finished run (at its last step, or stopped
// early) was trained with another schedule or other spike settings than the job's `settings`, which
// would have no effect because no step is left. Does not check a checkpoint of step 0.
void check_finished_run(const TrainJob& job, const checkpoint::SavedState& saved,
                        const Json& settings);

// Throws UsageError if the model folder contains a checkpoint but `begin` requires a new run, or if
// it contains none but `begin` requires one.
void check_resume_mode(ResumeMode begin, const std::string& model_dir);

// Throws UsageError if `overwrite` would delete the pretrained weights of the new run.
void check_weights_stay(const std::string& init, const std::string& model_dir, bool overwrite);

// Returns a hint on how to resume a stopped run.
std::string resume_hint(const TrainJob& job);

// Returns the initial state of the run. Loads the checkpoint to resume from if there is one, else
// the pretrained weights of job.init. `settings` are those of run_settings(); throws UsageError if
// they do not match the checkpoint's. Adds the source of pretrained weights to `settings`.
InitialState resolve_initial_state(const TrainJob& job, const model::StepProgram& program,
                                   const pjrt::Client& client, Json& settings);

}  // namespace smelt::train
