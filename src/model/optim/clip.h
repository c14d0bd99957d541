// Gradient clipping by the norm over all parameters (Pascanu et al. 2013), or by value.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

// sqrt of the sum of squares over all tensors: a scalar.
Tensor global_norm(std::span<const Tensor> tensors);
// Each tensor times min(1, limit / norm); a norm that is not finite makes every element NaN, as in
// the original, so that it cannot pass unseen.
std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> tensors, Tensor norm, double limit);

// Every element within +-limit.
Tensor clip_by_value(Tensor tensor, double limit);

}  // namespace smelt
