// A step whose loss or gradient is not finite changes nothing, and neither does any step after it:
// when its report is read, steps behind it are already under way.
#pragma once

#include "model/train_step/state_layout.h"

namespace smelt {

// A scalar that is 1 until such a step; it is not saved.
StateTensor step_flag();

struct StepVerdict {
  Tensor good;   // pred: neither this step nor one before it was not finite
  Tensor apply;  // pred: the update is applied: it is good, and no spike
};
// All f32 scalars but `spike`, a pred; empty: there is none.
StepVerdict judge_step(Tensor flag, Tensor loss, Tensor norm, Tensor spike);
// The next step's.
Tensor next_flag(const StepVerdict& verdict, Tensor flag);

}  // namespace smelt
