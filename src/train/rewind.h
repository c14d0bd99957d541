// Rollback to an earlier checkpoint after a loss spike.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/field_names.h"
#include "checkpoint/storage/checkpoint.h"
#include "train/spike_record.h"

namespace smelt::train {

struct RewindFrom {
  std::string model_dir;
  std::int64_t spike = 0;  // step of the spike
  // Preferred targets are the checkpoints at multiples of save_every and the run's first one, at
  // first_step. So the target does not depend on checkpoints that were saved because of a signal.
  std::int64_t save_every = 1;
  std::int64_t first_step = 0;
  Fields fields = recipe_field;  // names of the settings in messages
  // Throws if this process no longer holds the lock. Called before checkpoints are removed.
  std::function<void()> require_held = [] {};
};

// Returns the step to roll back to: the latest preferred one before the spike (see RewindFrom), or
// if there is none, the latest one before the spike. Returns nullopt if no step is before it.
std::optional<std::int64_t> rewind_target(const std::vector<std::int64_t>& steps,
                                          std::int64_t spike, std::int64_t save_every,
                                          std::int64_t first_step);

// Returns the checkpoint of rewind_target() and removes the later ones. Throws SystemError if there
// is none, or if the run has rolled back to it ten times already.
checkpoint::SlicedCheckpoint rewind(const RewindFrom& from, const SpikeRecord& record);

// Removes the checkpoints after a step from which a run continues; otherwise the next start would
// resume from the latest of them. Returns their steps.
std::vector<std::int64_t> remove_later_checkpoints(const std::string& model_dir, std::int64_t step);

}  // namespace smelt::train
