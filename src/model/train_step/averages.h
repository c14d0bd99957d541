// Exponential moving averages of the weights, updated with each step and saved with them.
#pragma once

#include "model/nn/state_names.h"
#include "model/train_step/state_layout.h"

namespace smelt::model {

// Adds an average for each parameter value; it starts equal to the value.
void add_averages(StateLayout& layout);
// Returns average + (1 - decay) (value - average).
compiler::Tensor next_average(double decay, compiler::Tensor average, compiler::Tensor value);

// Renames the values of a layout to the names of their averages.
void take_averages(StateLayout& layout);

}  // namespace smelt::model
