// A step with a non-finite loss or gradient changes nothing, and neither do later steps: when its
// report is read, later steps are already running.
#pragma once

#include "model/train_step/state_layout.h"

namespace smelt {

// State scalar that is 1 until such a step occurs; not saved.
StateTensor step_flag();

// Whether a step's update is applied.
struct StepVerdict {
  Tensor good;   // pred: all values up to this step are finite
  Tensor apply;  // pred: the update is applied: good and not a spike
};
// All arguments are f32 scalars except `spike`, a pred; empty: no spike detection.
StepVerdict judge_step(Tensor flag, Tensor loss, Tensor norm, Tensor spike);
// Returns the flag for the next step.
Tensor next_flag(const StepVerdict& verdict, Tensor flag);

}  // namespace smelt
