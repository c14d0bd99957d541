// The states that a run keeps beside its regular checkpoints: model/best and model/save.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/json.h"
#include "io/filesystem/folder_lock.h"
#include "train/trainer.h"

namespace smelt {

// In the settings of a checkpoint: the best evaluation up to its step, as {"name": metric, "value":
// …, "step": …}; without "value" before the first evaluation. Without "step" (of an earlier
// version) it is the checkpoint's own evaluation.
inline constexpr const char* kScore = "score";
// Written beside the best checkpoint by an earlier version, which had no kScore.
inline constexpr const char* kScoreFile = "score.json";

// The best evaluation of a run so far, and the step whose state was evaluated.
struct BestState {
  double value = 0;
  std::int64_t step = 0;
};

// Returns what the settings of the checkpoint of `step` record of this metric, or nullopt.
std::optional<BestState> recorded_best(const Json& settings, std::int64_t step,
                                       const std::string& metric);

// Returns whether the settings of a checkpoint say which state was the best so far, or that none
// had been evaluated. Checkpoints of earlier versions do not.
bool records_best(const Json& settings, const std::string& metric);

// Returns the step of the checkpoint that a loss spike after `step` rolls back to. It must be kept
// even when later ones are saved. It is the latest multiple of save_every up to `step`, but at
// least `first_step`, the step of the run's first checkpoint. nullopt if spikes do not roll back.
std::optional<std::int64_t> rollback_step(const TrainJob& job, std::int64_t step,
                                          std::int64_t first_step);
// Returns the checkpoint in the model folder that a loss spike after `step` rolls back to, and the
// step of the best state that it records; nullopt if that is the checkpoint of `step` itself.
std::optional<std::pair<std::int64_t, std::optional<std::int64_t>>> rollback_best(
    const TrainJob& job, std::int64_t step, std::int64_t first_step);

// Where a run goes on from: the checkpoint of `step`, whose best state so far was `best`.
struct ResumePoint {
  std::int64_t step = 0;
  std::int64_t first_step = 0;  // of the run's first checkpoint
  std::optional<BestState> best = {};
  bool records_best = false;  // else the states in best/ are looked at if there is no `best`
};
// Makes best/ and save/ what they were when that checkpoint was saved: removes later states and
// remains of killed saves, and restores the best state from the model folder if it is missing in
// best/. If the checkpoint records no best, as one of an earlier version, the scores in best/
// count. Returns the best, or nullopt if there is none or its state is lost, which is logged: the
// next evaluation is the best then. All ranks call it with a new `key`; rank 0, which holds the
// lock, does the work.
std::optional<BestState> restore_kept_states(const TrainJob& job, const ResumePoint& from,
                                             const FolderLock* lock, const std::string& key);

// Removes the checkpoints of a folder whose steps are not in `steps`.
void keep_only(const std::string& folder, const std::set<std::int64_t>& steps);

}  // namespace smelt
