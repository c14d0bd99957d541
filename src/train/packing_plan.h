// Decides whether and how a training run packs its sequences.
#pragma once

#include <optional>

#include "data/input_pipeline/pack.h"
#include "train/trainer.h"

namespace smelt::train {

// Returns how the run packs its batches, or nullopt if it does not (PackingMode), and logs the
// decision. Depends only on the data and the settings, so that a resumed run packs as before.
// Throws UsageError if packing is `on` for a task, reduction or optimizer that does not allow it.
std::optional<data::PackingPlan> packing_plan(const TrainJob& job,
                                              const data::ExampleSource& source,
                                              const model::ShardingPlan& placement);

}  // namespace smelt::train
