// Learning rate by step.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace smelt {

// The original BERT's schedule (google-research/bert optimization.py): learning_rate * (1 -
// step/total)^power, 0 from step = total on; while step < warmup_steps it is learning_rate *
// step/warmup_steps instead. The decay is not shifted by the warm-up, so the rate drops a little
// where the two meet.
struct Schedule {
  double learning_rate = 1e-4;
  std::int64_t warmup_steps = 0;
  std::int64_t total_steps = 1;
  double power = 1.0;
};

// f32 scalar; step: s32 scalar, the number of steps done before this one.
Tensor learning_rate(const Schedule& schedule, Tensor step);

}  // namespace smelt
