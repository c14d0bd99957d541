// Amos, "Adaptive weight-decay towards Model-Oriented Scale" (Tian & Parikh 2022), as JEstimator's
// amos.py has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/optim/optimizer.h"
#include "model/optim/rules.h"

namespace smelt {

struct Amos {
  // By parameter: the scale that its elements are to come to, above 0; the shape of its slots v and
  // b, (), or with each dimension the parameter's or 1.
  NameRules eta, slot_shape;
  double beta = 0.999;      // of v
  double momentum = 0.9;    // of the updates; 0: none, and no slot for it
  double clip_value = 1.0;  // largest element of the gradient; 0: not clipped
  double extra_l2 = 0;
  double c_coef = 0.25, d_coef = 0.25;
  double epsilon = 0x1p-125;  // what v is at least, where it divides
};

// Slots amos_v and amos_b of the reduced shape, amos_m of the parameter's. A stacked parameter's
// layers are each a parameter by themselves. Its rate is the schedule's at steps counted from 1.
// UsageError, when slots are asked for or an update is built, for what a rule gives that is no eta
// or no shape, or layers of a stack with slots of different shapes.
Optimizer amos(const Amos& config);

}  // namespace smelt
