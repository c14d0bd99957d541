// Exponential moving averages of the weights, carried and saved beside them.
#pragma once

#include "model/nn/state_names.h"
#include "model/train_step/state_layout.h"

namespace smelt {

// Adds one of each value, which begins as the value does.
void add_averages(StateLayout& layout);
// average + (1 - decay) (value - average)
Tensor next_average(double decay, Tensor average, Tensor value);

// A layout of values by the names of their averages.
void take_averages(StateLayout& layout);

}  // namespace smelt
