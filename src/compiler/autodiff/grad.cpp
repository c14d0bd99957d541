#include "compiler/autodiff/grad.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "compiler/ir/op.h"
#include "compiler/ops/ops.h"
#include "compiler/ops/table.h"

namespace smelt::compiler {
namespace {

using Cotangents = std::unordered_map<Tensor, Tensor>;

void check_arguments(Tensor loss, std::span<const Tensor> wrt) {
  if (loss.rank() != 0 || !is_float(loss.dtype()))
    throw UsageError(str("grad: the loss is ", loss.shape(), ", expected a scalar float"),
                     "reduce it to a scalar, for example with reduce_sum over all axes");
  for (const Tensor& w : wrt) {
    CHECK(&w.graph() == &loss.graph(), "grad: loss and parameter of different graphs");
    if (!is_float(w.dtype()))
      throw UsageError(str("grad: cannot differentiate with respect to ", w.shape()),
                       "pass floating-point tensors only");
  }
}

// Returns the nodes of `order` (inputs before users) that depend on a tensor in `from`.
std::unordered_set<const Node*> dependents_in(std::span<const Node* const> order,
                                              std::span<const Tensor> from, Along along) {
  const bool stops = along != Along::values, floats = along == Along::gradients;
  std::unordered_set<const Node*> out;
  for (const Tensor& t : from) out.insert(&t.node());
  for (const Node* node : order) {
    if (stops && node->op == &kStopGradient) continue;
    for (const Tensor& input : node->inputs)
      if (out.contains(&input.node()) && (!floats || is_float(input.dtype()))) out.insert(node);
  }
  return out;
}

void accumulate(Cotangents& cts, Tensor input, Tensor ct, const Node& node) {
  // The cotangent is wider than the input only if the input comes from `rounded`, whose gradient is
  // not rounded to the narrow type.
  CHECK(
      ct.dims() == input.dims() && dtype_size_bytes(ct.dtype()) >= dtype_size_bytes(input.dtype()),
      node.op->name, ": cotangent ", ct.shape(), " for ", input.shape());
  const auto [slot, is_first] = cts.try_emplace(input, ct);
  if (is_first) return;
  const bool wider = dtype_size_bytes(ct.dtype()) > dtype_size_bytes(slot->second.dtype());
  const DType dtype = wider ? ct.dtype() : slot->second.dtype();
  slot->second = convert(slot->second, dtype) + convert(ct, dtype);
}

// Returns the cotangents of the node's results, or an empty list if it has none.
std::vector<Tensor> cotangents_of_results(const Cotangents& cts, const Node& node) {
  std::vector<Tensor> found(node.results.size());
  bool any = false;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (const auto at = cts.find(Tensor(&node, static_cast<int>(i))); at != cts.end()) {
      found[i] = at->second;
      any = true;
    }
  return any ? found : std::vector<Tensor>();
}

}  // namespace

std::unordered_set<const Node*> dependents(const Graph& graph, std::span<const Tensor> from,
                                           Along along) {
  std::vector<const Node*> order;
  for (const Node& node : graph.nodes()) order.push_back(&node);
  return dependents_in(order, from, along);
}

std::vector<Tensor> pullback(std::span<const Tensor> results, std::span<const Tensor> cotangents,
                             std::span<const Tensor> wrt) {
  const std::vector<const Node*> order = reachable(results);
  const auto on_path = dependents_in(order, wrt, Along::unstopped);
  Cotangents cts;
  for (std::size_t i = 0; i < results.size(); ++i)
    accumulate(cts, results[i], cotangents[i], results[i].node());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = **it;
    if (node.inputs.empty() || !on_path.contains(&node)) continue;
    const std::vector<Tensor> from_results = cotangents_of_results(cts, node);
    if (from_results.empty()) continue;
    if (node.op->vjp == nullptr)
      throw UsageError(str("grad: ", node.op->name, " has no gradient"),
                       "wrap its input in stop_gradient");
    const std::vector<Tensor> to_inputs = node.op->vjp(node, from_results);
    CHECK(to_inputs.size() == node.inputs.size(), node.op->name, ": ", to_inputs.size(),
          " cotangents for ", node.inputs.size(), " inputs");
    for (std::size_t i = 0; i < to_inputs.size(); ++i)
      if (to_inputs[i] && on_path.contains(&node.inputs[i].node()))
        accumulate(cts, node.inputs[i], to_inputs[i], node);
  }
  std::vector<Tensor> out;
  for (const Tensor& w : wrt) out.push_back(cts.contains(w) ? cts.at(w) : Tensor());
  return out;
}

std::vector<Tensor> grad(Tensor loss, std::span<const Tensor> wrt) {
  check_arguments(loss, wrt);
  const Tensor one = ones_like(loss);
  std::vector<Tensor> out = pullback(std::span(&loss, 1), std::span(&one, 1), wrt);
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!out[i]) out[i] = zeros_like(wrt[i]);
  return out;
}

}  // namespace smelt::compiler
