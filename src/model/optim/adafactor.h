// Adafactor, "Adaptive Learning Rates with Sublinear Memory Cost" (Shazeer & Stern 2018), as T5X's
// adafactor.py and transformers' optimization.py have it. Their relative step is a schedule:
// 1 / sqrt(max(step, 10000)) is inverse_sqrt of learning rate 0.01 with warmup_steps 10000.
#pragma once

#include "model/optim/optimizer.h"

namespace smelt {

struct Adafactor {
  double decay_rate = 0.8;      // of the mean of squared gradients: beta2 of step t is 1 - t^-this
  double epsilon1 = 1e-30;      // added to squared gradients
  double epsilon2 = 1e-3;       // what a parameter's scale is at least
  double clip_threshold = 1;    // largest root mean square of a parameter's update; 0: not clipped
  bool parameter_scale = true;  // the rate is times the root mean square of the parameter
  double momentum = 0;          // of the updates, before weight decay; 0: none, and no slot for it
  double weight_decay = 0;
  // T5X takes that share of the parameter in each step, transformers that share times the rate and
  // the parameter's scale.
  enum class Decay { by_step, by_rate } decay = Decay::by_step;
  // Two dimensions of at least so many are factored, the two largest (T5X); transformers factors
  // the last two of any size.
  enum class Factored { largest, last } factored = Factored::largest;
  std::int64_t least_factored = 128;
};

// Slots adafactor_row and adafactor_column, the means of squared gradients over the second and over
// the first of the two factored dimensions, which are 1 there; where none are factored adafactor_v
// of the parameter's shape; with momentum adafactor_m. A stacked parameter's layers are each a
// parameter by themselves.
Optimizer adafactor(const Adafactor& config);

}  // namespace smelt
