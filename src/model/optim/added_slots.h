// Additional optimizer slots for prunable matrices (model/optim/pruning.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/optim/optimizer.h"

namespace smelt::model {

// Returns the new values of the added slots, given the old ones; like an optimizer's, they must
// come from renewed().
using AddedSlots = std::function<std::vector<compiler::Tensor>(
    const OptimizerStep& step, const Parameter& parameter, std::span<const compiler::Tensor> slots,
    compiler::Tensor gradient)>;

// Returns the optimizer with these additional slots for each prunable matrix, in its shape, after
// its own slots.
Optimizer with_added_slots(Optimizer optimizer, std::vector<std::string> names, AddedSlots update);

}  // namespace smelt::model
