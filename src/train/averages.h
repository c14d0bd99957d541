// Exponential moving averages of the weights, carried and saved beside them.
#pragma once

#include <vector>

#include "checkpoint/averages.h"
#include "train/state_layout.h"

namespace smelt {

// Adds an average of each parameter to the layout, its arguments and results: in every step
// average + (1 - decay) (value - average). It begins as the parameter does.
void add_averages(double decay, StateLayout& layout, Graph& graph, std::vector<Tensor>& results);

// A layout of values by the names of their averages.
void take_averages(StateLayout& layout);

}  // namespace smelt
