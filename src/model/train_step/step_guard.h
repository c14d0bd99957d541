// A step with a non-finite loss or gradient changes nothing, and neither do later steps: when its
// report is read, later steps are already running.
#pragma once

#include "model/train_step/state_layout.h"

namespace smelt::model {

// State scalar that is 1 until such a step occurs; not saved.
StateTensor step_flag();

// Whether a step's update is applied.
struct StepVerdict {
  compiler::Tensor good;   // pred: all values up to this step are finite
  compiler::Tensor apply;  // pred: the update is applied: good and not a spike
};
// All arguments are f32 scalars except `spike`, a pred; empty: no spike detection.
StepVerdict judge_step(compiler::Tensor flag, compiler::Tensor loss, compiler::Tensor norm,
                       compiler::Tensor spike);
// Returns the flag for the next step.
compiler::Tensor next_flag(const StepVerdict& verdict, compiler::Tensor flag);

}  // namespace smelt::model
