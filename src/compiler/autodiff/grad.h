// Reverse-mode automatic differentiation: one pass over the graph in reverse order that applies the
// gradient rule of each op (Op::vjp).
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt::compiler {

// Returns d loss / d w for each w in `wrt`, with the shape of w. The gradients are new nodes of the
// same graph, so they can be differentiated again. The gradient is zero if the loss does not depend
// on w. Throws UsageError if the loss is not a scalar float, if w is not a floating-point tensor,
// or if an op between w and the loss has no gradient.
std::vector<Tensor> grad(Tensor loss, std::span<const Tensor> wrt);

// Vector-Jacobian product. `cotangents` holds one tensor for each of `results`, of the same shape.
// Returns one cotangent for each tensor in `wrt`, or an empty Tensor if no gradient reaches it.
std::vector<Tensor> pullback(std::span<const Tensor> results, std::span<const Tensor> cotangents,
                             std::span<const Tensor> wrt);

// The paths through the graph that count as a dependency.
enum class Along {
  values,     // every path
  unstopped,  // paths without stop_gradient, along which grad() differentiates
  gradients,  // paths without stop_gradient, and with floating-point tensors only
};
// Returns the nodes of the graph that depend on a tensor in `from` along paths of the kind `along`.
std::unordered_set<const Node*> dependents(const Graph& graph, std::span<const Tensor> from,
                                           Along along);

}  // namespace smelt::compiler
