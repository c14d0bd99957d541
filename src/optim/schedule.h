// Learning rate by step.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace smelt {

// While step < warmup_steps.
enum class Warmup {
  replaces,   // BERT's: learning_rate * step/warmup_steps, so the rate drops a little where it ends
  multiplies  // ELECTRA's: the decayed rate times step/warmup_steps
};

// The originals' schedule (optimization.py of google-research/bert and electra): learning_rate * (1
// - step/total)^power, 0 from step = total on. The decay is not shifted by the warm-up.
struct Schedule {
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double power = 1.0;
  Warmup warmup = Warmup::replaces;
};

// f32 scalar; step: s32 scalar, the number of steps done before this one.
Tensor learning_rate(const Schedule& schedule, Tensor step);

}  // namespace smelt
