// Where a run goes back to from a spike of its loss.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/field_names.h"
#include "checkpoint/storage/checkpoint.h"
#include "train/spike_record.h"

namespace smelt {

struct RewindFrom {
  std::string model_dir;
  std::int64_t spike = 0;        // the step
  std::int64_t save_every = 1;   // checkpoints of its multiples come first, and the run's first:
  std::int64_t first_step = 0;   // what a signal saved in between must not change the way
  Fields fields = recipe_field;  // what messages call settings
  // Throws if the folder is no longer this process's. Called before checkpoints are removed.
  std::function<void()> require_held = [] {};
};

// Of these steps the one that a rewind goes back to: the last before the spike of those that come
// first, else of all.
std::optional<std::int64_t> rewind_target(const std::vector<std::int64_t>& steps,
                                          std::int64_t spike, std::int64_t save_every,
                                          std::int64_t first_step);

// The checkpoint of rewind_target(); those after it, of the way that is given up, are removed.
// SystemError when there is none, or when the run went back to it ten times already.
SlicedCheckpoint rewind(const RewindFrom& from, const SpikeRecord& record);

// Those beyond a step that a run goes on from; else the next start would take the newest of them.
// Returns their steps.
std::vector<std::int64_t> remove_later_checkpoints(const std::string& model_dir, std::int64_t step);

}  // namespace smelt
