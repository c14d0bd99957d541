// Gradient clipping by global norm (Pascanu et al. 2013) or by value.
#pragma once

#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt::model {

// Returns the square root of the sum of squares over all tensors, a scalar.
compiler::Tensor global_norm(std::span<const compiler::Tensor> tensors);
// Returns the tensors multiplied by min(1, limit / norm). If the norm is not finite, all elements
// become NaN, as in tf.clip_by_global_norm, so that the problem is noticed.
std::vector<compiler::Tensor> clip_by_global_norm(std::span<const compiler::Tensor> tensors,
                                                  compiler::Tensor norm, double limit);

// Clamps every element to [-limit, limit].
compiler::Tensor clip_by_value(compiler::Tensor tensor, double limit);

}  // namespace smelt::model
