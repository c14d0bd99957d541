// A step whose loss or gradient is not finite changes nothing, and neither does any step after it:
// when its report is read, steps behind it are already under way.
#pragma once

#include <vector>

#include "train/state_layout.h"

namespace smelt {

struct StepVerdict {
  Tensor loss, norm;  // f32 scalars, which must be finite
  Tensor spike = {};  // where true the losses alone are taken on (train/spikes.h); empty: never
};

// Holds the results, which are the layout's last arguments renewed, to the verdict. Adds a scalar
// that is 1 until such a step; it is not saved.
void add_step_guard(const StepVerdict& verdict, StateLayout& layout, Graph& graph,
                    std::vector<Tensor>& results);

}  // namespace smelt
