// Decides whether and how a training run packs its sequences.
#pragma once

#include <optional>

#include "data/input_pipeline/pack.h"
#include "train/trainer.h"

namespace smelt::train {

// Throws UsageError if packing is `on` for a job that cannot be packed.
void check_packing(const TrainJob& job);

// Returns how the run packs its batches, or nullopt if it does not (PackingMode), and logs the
// decision. Reads the first batches. Depends only on the data and the settings, so that a resumed
// run packs as before. Throws like check_packing().
std::optional<data::PackingPlan> packing_plan(const TrainJob& job,
                                              const data::ExampleSource& source,
                                              const model::ShardingPlan& placement);

}  // namespace smelt::train
