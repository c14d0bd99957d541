// Reverse-mode differentiation: one walk over the graph, one rule per op (Op::vjp).
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

// d loss / d w for each w of `wrt`, in the shape of w, as new nodes of the same graph (so it can be
// differentiated again). A w that the loss does not depend on gets zeros. UsageError: the loss is
// not a scalar float, a w is not of floats, or an op between has no gradient (the hint says
// stop_gradient).
std::vector<Tensor> grad(Tensor loss, std::span<const Tensor> wrt);

// The walk itself: from a cotangent for each of `results` (of its shape) to one for each of `wrt`,
// empty where none flows.
std::vector<Tensor> pullback(std::span<const Tensor> results, std::span<const Tensor> cotangents,
                             std::span<const Tensor> wrt);

// The nodes of the graph that depend on one of `from` along some way.
enum class Along {
  values,     // any
  unstopped,  // one without a stop_gradient: an op on it that has no gradient is a mistake
  gradients,  // one of floats, too
};
std::unordered_set<const Node*> dependents(const Graph& graph, std::span<const Tensor> from,
                                           Along along);

}  // namespace smelt
