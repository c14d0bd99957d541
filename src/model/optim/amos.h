// Amos, "Adaptive weight-decay towards Model-Oriented Scale" (Tian & Parikh 2022), following
// JEstimator's amos.py.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/optim/optimizer.h"
#include "model/optim/rules.h"

namespace smelt::model {

// Settings of Amos.
struct Amos {
  // Rules by parameter name. eta: the expected scale of the parameter's elements, above 0.
  // slot_shape: the shape of slots v and b, either () or the parameter's shape with some dimensions
  // replaced by 1.
  NameRules eta, slot_shape;
  double beta = 0.999;      // decay rate of v
  double momentum = 0.9;    // momentum of the updates; 0: none and no slot
  double clip_value = 1.0;  // clips each element of the gradient; 0: no clipping
  double extra_l2 = 0;
  double c_coef = 0.25, d_coef = 0.25;
  double epsilon = 0x1p-125;  // lower bound of v as a divisor
};

// Returns the optimizer. Its slots are amos_v and amos_b in the shape that slot_shape gives, and
// amos_m in the parameter's shape. Each layer of a stacked parameter is treated separately. The
// schedule counts steps from 1. Optimizer::slots and Optimizer::update throw UsageError if a rule
// yields an invalid eta or shape, or if the layers of a stack have slots of different shapes.
Optimizer amos(const Amos& config);

}  // namespace smelt::model
