// The loss spikes of a run and how they were handled (model/train_step/spikes.h defines a spike).
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "model/train_step/spikes.h"

namespace smelt::train {

// Initializes the recent losses for spike detection if the checkpoint has none, or if their number
// is not that of the layout. The initial values are so large that no loss counts as a spike until
// real losses have replaced them.
void begin_spike_losses(const model::StateLayout& layout, checkpoint::SlicedCheckpoint& checkpoint);

// The updates and batches that a run has skipped, as stored in its checkpoints.
class SpikeRecord {
 public:
  SpikeRecord() = default;
  explicit SpikeRecord(const Json& settings);

  // Logs a spike, and records its step if the update is only skipped. Returns `action`.
  model::SpikeAction found(model::SpikeAction action, std::int64_t step, double loss);
  // Records a rollback to the checkpoint of `step`, from which this many batches are skipped.
  void rewound(std::int64_t step, std::int64_t batches);

  // Returns the number of batches that rollbacks have skipped so far.
  std::int64_t skipped_batches() const;
  std::int64_t rewinds_to(std::int64_t step) const;
  // Adds the record to a checkpoint's settings, if anything was skipped.
  void put(Json& settings) const;

 private:
  struct Rewind {
    std::int64_t step, batches;
  };
  std::vector<std::int64_t> skipped_;
  std::vector<Rewind> rewinds_;
};

}  // namespace smelt::train
