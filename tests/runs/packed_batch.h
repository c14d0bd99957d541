// Batches of short sequences, for tests of packing.
#pragma once

#include "data/input_pipeline/pack.h"
#include "model/tasks/task.h"

namespace smelt {

// Returns random tokens; sequences have 3 to S / 2 + 2 tokens, and masked positions are among them.
data::Batch short_sequences(const io::Features& features, std::int64_t rows, std::uint64_t seed);

// Returns the plan for these sequences, with as many rows as they need and at least `rows`.
data::PackingPlan packing_plan_of(const model::Task& task, const data::Batch& batch,
                                  std::int64_t devices = 1, std::int64_t micro_batches = 1,
                                  std::int64_t rows = 0);

}  // namespace smelt
