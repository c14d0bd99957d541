// Loss spikes: steps whose loss is far above that of the previous steps. Their updates are skipped.
// A run may also roll back and skip the data around them, as for PaLM (Chowdhery et al. 2022,
// section 5.1).
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/choice.h"
#include "model/train_step/state_layout.h"

namespace smelt::model {

// The reaction to a spike: none, skip the update, or roll back to a checkpoint.
enum class SpikeAction { none, skip, rewind };
inline constexpr NamedValues<SpikeAction, 3> kSpikeActions{
    {{"none", SpikeAction::none}, {"skip", SpikeAction::skip}, {"rewind", SpikeAction::rewind}}};
constexpr const NamedValues<SpikeAction, 3>& words_of(SpikeAction) { return kSpikeActions; }

// Settings of spike detection.
struct Spikes {
  SpikeAction action = SpikeAction::none;
  // number of previous losses that a loss is compared with; no spikes before that many steps
  std::int64_t window = 128;
  double sigmas = 6;  // threshold above the mean of these losses, in standard deviations
  // Number of batches after the checkpoint that a rollback skips. All batches up to the spike are
  // skipped in any case.
  std::int64_t skip_batches = 0;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, Spikes>
void visit_fields(C& c, Visitor&& visit) {
  visit("action", c.action,
        "reaction to a loss spike: none; skip: do not apply the update of the step; rewind: roll "
        "back to the last checkpoint and skip the batches up to the spike");
  visit("window", c.window, "number of previous losses that a loss is compared with");
  visit("sigmas", c.sigmas, "spike threshold: standard deviations above the mean of these losses");
  visit("skip_batches", c.skip_batches,
        "minimum number of batches that a rollback skips; batches up to the spike are always "
        "skipped");
}

// A figure of the report: 1 if the step was a spike.
inline constexpr const char* kSpikeFigure = "spike";
// State tensor [window]: the losses of the previous steps, newest last, including spikes.
inline constexpr const char* kSpikeLosses = "run/losses";

// Returns the layout of the state tensor kSpikeLosses.
StateTensor spike_losses(const Spikes& spikes);
// Returns a pred: whether `loss` is a spike after these losses. `step` (s32) is the number of
// previous steps.
compiler::Tensor is_spike(const Spikes& spikes, compiler::Tensor losses, compiler::Tensor loss,
                          compiler::Tensor step);
// Appends the loss and drops the oldest one.
compiler::Tensor next_losses(compiler::Tensor losses, compiler::Tensor loss);

}  // namespace smelt::model
