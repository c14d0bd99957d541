// Spikes of the loss: steps whose loss lies far above those before it. Their updates are not
// applied; a run may also go back and leave the data around them out, as PaLM's did (Chowdhery et
// al. 2022, section 5.1).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "train/state_layout.h"

namespace smelt {

enum class SpikeAction { none, skip, rewind };

struct Spikes {
  SpikeAction action = SpikeAction::none;
  std::int64_t window = 128;  // losses before a step's that it is held to; no step is before them
  double sigmas = 6;          // standard deviations above their mean
  // Batches that a rewind goes over, from its checkpoint on; at least those up to the spike.
  std::int64_t rewind_skip = 0;
};

// Of the report: 1 where the step was a spike.
inline constexpr const char* kSpikeFigure = "spike";
// [window]: the losses of the steps before, the newest last, spikes among them.
inline constexpr const char* kSpikeLosses = "run/losses";

StateTensor spike_losses(const Spikes& spikes);
// Gives a checkpoint of a run that looked for none, or among more or fewer losses, what the layout
// wants of them: losses beside which none is a spike, until those to come have taken their places.
void begin_spike_losses(const StateLayout& layout, SlicedCheckpoint& checkpoint);
// A pred: whether the loss is a spike after these losses; `step`: s32, those done before.
Tensor is_spike(const Spikes& spikes, Tensor losses, Tensor loss, Tensor step);
Tensor next_losses(Tensor losses, Tensor loss);

// What a run left out, as its checkpoints keep it.
class SpikeRecord {
 public:
  SpikeRecord() = default;
  explicit SpikeRecord(const nlohmann::json& settings);

  // Logs a spike. Returns what is to be done.
  SpikeAction found(SpikeAction action, std::int64_t step, double loss);
  // Back to the checkpoint of `step`; so many batches, from that step's on, are gone over.
  void rewound(std::int64_t step, std::int64_t batches);

  // By which a step's batch lies further on than without rewinds.
  std::int64_t gone_over() const;
  std::int64_t rewinds_to(std::int64_t step) const;
  // Puts it into a checkpoint's settings; nothing where nothing was left out.
  void put(nlohmann::json& settings) const;

 private:
  struct Rewind {
    std::int64_t step, batches;
  };
  std::vector<std::int64_t> skipped_;
  std::vector<Rewind> rewinds_;
};

}  // namespace smelt
