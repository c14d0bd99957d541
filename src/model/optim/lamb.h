// LAMB (You et al. 2020, Algorithm 2): Adam with each parameter's update scaled to the norm of the
// parameter.
#pragma once

#include "model/optim/adamw.h"

namespace smelt::model {

// Settings of LAMB.
struct Lamb {
  // Parameters without weight decay (AdamW::decay_of) are not scaled either.
  AdamW adam = {.bias_correction = BiasCorrection::on};
  // Bounds of the parameter norm: min(max(norm, least_norm), most_norm). most_norm 0: no upper
  // bound.
  double least_norm = 0, most_norm = 0;
};

// Returns the optimizer. Its slots are those of AdamW. Adam's update is multiplied by the norm of
// the parameter divided by the norm of the update, or by 1 if either norm is 0. Each layer of a
// stacked parameter is treated separately.
Optimizer lamb(const Lamb& config);

}  // namespace smelt::model
