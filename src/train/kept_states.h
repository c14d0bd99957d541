// Checkpoints that a run keeps in addition to the regular ones: those in model/best and model/save.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/json.h"
#include "io/filesystem/folder_lock.h"
#include "train/trainer.h"

namespace smelt::train {

// Field of a checkpoint's settings: the best evaluation up to its step, as {"name": metric,
// "value": …, "step": …}; without "value" before the first evaluation. If "step" is missing
// (earlier versions), it is the checkpoint's own evaluation.
inline constexpr const char* kScore = "score";
// File in best/ with the score, written by an earlier version without kScore.
inline constexpr const char* kScoreFile = "score.json";

// The best evaluation of a run so far, and the step whose state was evaluated.
struct BestState {
  double value = 0;
  std::int64_t step = 0;
};

// Returns the best evaluation by `metric` that a checkpoint records, or nullopt if it records none.
// `settings` are the checkpoint's settings and `step` is its step.
std::optional<BestState> recorded_best(const Json& settings, std::int64_t step,
                                       const std::string& metric);

// Returns whether the settings of a checkpoint record the best state so far, or that nothing was
// evaluated yet. Checkpoints of earlier versions do not.
bool records_best(const Json& settings, const std::string& metric);

// Returns the step of the checkpoint that a loss spike after `step` rolls back to. It must be kept
// even when later ones are saved. It is the latest multiple of save_every up to `step`, but at
// least `first_step`, the step of the run's first checkpoint. nullopt if spikes do not roll back.
std::optional<std::int64_t> rollback_step(const TrainJob& job, std::int64_t step,
                                          std::int64_t first_step);
// Returns the step of the checkpoint in the model folder that a loss spike after `step` rolls back
// to; nullopt if spikes do not roll back, or roll back to the checkpoint of `step` itself.
std::optional<std::int64_t> rollback_checkpoint(const TrainJob& job, std::int64_t step,
                                                std::int64_t first_step);
// Returns the checkpoint in the model folder that a loss spike after `step` rolls back to, and the
// step of the best state that it records; nullopt if that is the checkpoint of `step` itself.
std::optional<std::pair<std::int64_t, std::optional<std::int64_t>>> rollback_best(
    const TrainJob& job, std::int64_t step, std::int64_t first_step);

// The checkpoint from which a run continues, with the best evaluation up to its step.
struct ResumePoint {
  std::int64_t step = 0;
  std::int64_t first_step = 0;  // step of the run's first checkpoint
  std::optional<BestState> best = {};
  bool records_best = false;  // if false and `best` is empty, use the scores in best/
};
// Restores best/ and save/ to what they were when the checkpoint `from` was saved: removes later
// states and the remains of killed saves, and copies the best state from the model folder if it is
// missing in best/. If the checkpoint does not record which state was the best (earlier versions),
// uses the scores in best/. Also finishes removals of checkpoints that were interrupted. Returns
// the best evaluation. Returns nullopt if there is none, or if its state is lost, which is logged;
// the next evaluation then counts as the best. All ranks must call this with the same `key`, which
// was not used before; rank 0, which holds the lock, does the work.
std::optional<BestState> restore_kept_states(const TrainJob& job, const ResumePoint& from,
                                             const io::FolderLock* lock, const std::string& key);

// Removes the checkpoints of a folder whose steps are not in `steps`.
void keep_only(const std::string& folder, const std::set<std::int64_t>& steps);

}  // namespace smelt::train
