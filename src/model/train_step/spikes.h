// Spikes of the loss: steps whose loss lies far above those before it. Their updates are not
// applied; a run may also go back and leave the data around them out, as PaLM's did (Chowdhery et
// al. 2022, section 5.1).
#pragma once

#include <cstdint>

#include "model/train_step/state_layout.h"

namespace smelt {

enum class SpikeAction { none, skip, rewind };

struct Spikes {
  SpikeAction action = SpikeAction::none;
  std::int64_t window = 128;  // losses before a step's that it is held to; no step is before them
  double sigmas = 6;          // standard deviations above their mean
  // Batches that a rewind goes over, from its checkpoint on; at least those up to the spike.
  std::int64_t rewind_skip = 0;
};

// A figure of the report: 1 where the step was a spike.
inline constexpr const char* kSpikeFigure = "spike";
// [window]: the losses of the steps before, the newest last, spikes among them.
inline constexpr const char* kSpikeLosses = "run/losses";

StateTensor spike_losses(const Spikes& spikes);
// A pred: whether the loss is a spike after these losses; `step`: s32, those done before.
Tensor is_spike(const Spikes& spikes, Tensor losses, Tensor loss, Tensor step);
Tensor next_losses(Tensor losses, Tensor loss);

}  // namespace smelt
