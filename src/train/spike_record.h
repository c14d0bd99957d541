// The spikes of a run and what was done about them (model/train_step/spikes.h says what a spike
// is).
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "model/train_step/spikes.h"

namespace smelt {

// Gives a checkpoint of a run that looked for none, or among more or fewer losses, what the layout
// wants of them: losses beside which none is a spike, until those to come have taken their places.
void begin_spike_losses(const StateLayout& layout, SlicedCheckpoint& checkpoint);

// What a run left out, as its checkpoints keep it.
class SpikeRecord {
 public:
  SpikeRecord() = default;
  explicit SpikeRecord(const Json& settings);

  // Logs a spike. Returns what is to be done.
  SpikeAction found(SpikeAction action, std::int64_t step, double loss);
  // Back to the checkpoint of `step`; so many batches, from that step's on, are gone over.
  void rewound(std::int64_t step, std::int64_t batches);

  // By which a step's batch lies further on than without rewinds.
  std::int64_t skipped_batches() const;
  std::int64_t rewinds_to(std::int64_t step) const;
  // Puts it into a checkpoint's settings; nothing where nothing was left out.
  void put(Json& settings) const;

 private:
  struct Rewind {
    std::int64_t step, batches;
  };
  std::vector<std::int64_t> skipped_;
  std::vector<Rewind> rewinds_;
};

}  // namespace smelt
