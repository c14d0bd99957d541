// Additional optimizer slots for prunable matrices (model/optim/pruning.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/optim/optimizer.h"

namespace smelt::model {

// Returns the new values of the added slots, given their old values in `slots`. The new values must
// be results of renewed(), as in Optimizer::update.
using AddedSlots = std::function<std::vector<compiler::Tensor>(
    const OptimizerStep& step, const Parameter& parameter, std::span<const compiler::Tensor> slots,
    compiler::Tensor gradient)>;

// Returns the optimizer with additional slots named `names` for each prunable matrix. They have the
// shape of the matrix and come after the optimizer's own slots.
Optimizer with_added_slots(Optimizer optimizer, std::vector<std::string> names, AddedSlots update);

}  // namespace smelt::model
