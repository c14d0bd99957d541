// Learning rate by step.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace smelt {

// While step < warmup_steps.
enum class Warmup {
  replaces,   // BERT's: learning_rate * step/warmup_steps, so the rate drops a little where it ends
  multiplies  // ELECTRA's and JEstimator's: the decayed rate times step/warmup_steps
};

// The factor of learning_rate.
enum class Decay {
  all_steps,    // (1 - step/total)^power: not shifted by the warm-up
  after_warmup  // JEstimator's: 1 - (step - warmup)/(decay_to_step - warmup) from the warm-up on,
                // but never below 0
};

// The originals' schedules (optimization.py of google-research/bert and electra, jestimator's
// pretrain.py).
struct Schedule {
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;  // of the run
  double power = 1.0;
  Warmup warmup = Warmup::replaces;
  Decay decay = Decay::all_steps;
  std::int64_t decay_to_step = 0;  // of Decay::after_warmup; 0: no decay
};

// f32 scalar; step: s32 scalar, as the optimizer counts it.
Tensor learning_rate(const Schedule& schedule, Tensor step);

}  // namespace smelt
