// Slots that are kept for prunable matrices (model/optim/pruning.h) beside an optimizer's own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/optim/optimizer.h"

namespace smelt {

// New values of the slots that are added, of their old ones; renewed(), as an optimizer's are.
using AddedSlots =
    std::function<std::vector<Tensor>(const OptimizerStep& step, const Parameter& parameter,
                                      std::span<const Tensor> slots, Tensor gradient)>;

// The same optimizer with these slots of each such matrix, of its shape, behind its own.
Optimizer with_added_slots(Optimizer optimizer, std::vector<std::string> names, AddedSlots update);

}  // namespace smelt
