// Adafactor, "Adaptive Learning Rates with Sublinear Memory Cost" (Shazeer & Stern 2018), following
// adafactor.py of T5X and optimization.py of transformers. Their relative step size,
// 1 / sqrt(max(step, 10000)), is the schedule inverse_sqrt with learning rate 0.01 and warmup_steps
// 10000.
#pragma once

#include "model/optim/optimizer.h"

namespace smelt::model {

// Settings of Adafactor.
struct Adafactor {
  double decay_rate = 0.8;  // beta2 of step t is 1 - t^-decay_rate
  double epsilon1 = 1e-30;  // added to squared gradients
  double epsilon2 = 1e-3;   // lower bound of a parameter's scale
  // upper bound of the root mean square of a parameter's update; 0: no clipping
  double clip_threshold = 1;
  bool parameter_scale = true;  // multiply the rate by the root mean square of the parameter
  double momentum = 0;          // momentum of the updates, before weight decay; 0: none and no slot
  double weight_decay = 0;
  // by_step, as in T5X: each step subtracts weight_decay times the parameter. by_rate, as in
  // transformers: this term is also multiplied by the learning rate and the parameter's scale.
  enum class Decay { by_step, by_rate } decay = Decay::by_step;
  // The two dimensions over which a parameter's second moment is factored. largest, as in T5X: the
  // two largest, if both are at least `least_factored`. last, as in transformers: the last two, of
  // any size.
  enum class Factored { largest, last } factored = Factored::largest;
  std::int64_t least_factored = 128;
};

// Returns the optimizer. A factored parameter has the slots adafactor_row and adafactor_column: the
// means of squared gradients over the second and over the first factored dimension, which keeps
// size 1. Other parameters have adafactor_v in the parameter's shape. With momentum there is also
// adafactor_m. Each layer of a stacked parameter is treated separately.
Optimizer adafactor(const Adafactor& config);

}  // namespace smelt::model
