// Guards the state against a step with a non-finite loss or gradient. Such a step does not change
// the state, and neither do the steps after it: later steps are already running when the host reads
// the report of the bad one.
#pragma once

#include "model/train_step/state_layout.h"

namespace smelt::model {

// Returns the layout of the flag: a state scalar that is 1 before the first step with a non-finite
// loss or gradient and 0 from then on. It is not saved in checkpoints.
StateTensor step_flag();

// Whether a step's update is applied.
struct StepVerdict {
  compiler::Tensor good;   // pred: all values up to this step are finite
  compiler::Tensor apply;  // pred: the update is applied: good and not a spike
};
// Returns whether to apply the update of a step. `flag` is the state scalar of step_flag(); `norm`
// is that of the gradient. All are f32 scalars, except the pred `spike`, which is true for a loss
// spike; empty: no spike detection.
StepVerdict judge_step(compiler::Tensor flag, compiler::Tensor loss, compiler::Tensor norm,
                       compiler::Tensor spike);
// Returns the flag for the next step.
compiler::Tensor next_flag(const StepVerdict& verdict, compiler::Tensor flag);

}  // namespace smelt::model
