// Decides whether and how a training run packs its sequences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "data/input_pipeline/pack.h"
#include "train/trainer.h"

namespace smelt::train {

// Throws UsageError if packing is `on` for a job that cannot be packed.
void check_packing(const TrainJob& job);

// How a run packs its batches.
struct PackingChoice {
  std::optional<data::PackingPlan> plan;  // nullopt: the run does not pack its batches
  std::string reason;  // for the user: "off, because ...", "on: 8 examples of a step fit into ..."
};

// Chooses how the run packs its batches from the first batches of `source`. `row_shards` is the
// number of devices among which a batch is divided. Depends only on the data and the settings, so
// that a resumed run packs as before. Throws like check_packing().
PackingChoice choose_packing(const TrainJob& job, const data::ExampleSource& source,
                             std::int64_t row_shards);

}  // namespace smelt::train
