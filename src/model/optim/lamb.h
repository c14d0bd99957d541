// LAMB (You et al. 2020, Algorithm 2): Adam's direction, scaled for each parameter to the
// parameter's own norm.
#pragma once

#include "model/optim/adamw.h"

namespace smelt {

struct Lamb {
  // Where decay_of leaves a parameter without decay, its direction is not scaled either.
  AdamW adam = {.bias_correction = BiasCorrection::on};
  // phi(norm) = min(max(norm, least_norm), most_norm); most_norm 0: no upper bound.
  double least_norm = 0, most_norm = 0;
};

// Slots as AdamW's. A stacked parameter's layers are each a parameter by themselves. The factor is
// 1 where either norm is 0.
Optimizer lamb(const Lamb& config);

}  // namespace smelt
