#include "compiler/autodiff/scan.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/autodiff/scan_op.h"
#include "compiler/ops/ops.h"

namespace smelt::compiler {
namespace {

// Returns the nodes of the graph that depend on a floating-point argument, so that a gradient may
// flow through them.
auto with_gradients(const Graph& graph) {
  Tensors leaves;
  for (const Tensor& argument : graph.arguments())
    if (is_float(argument.dtype())) leaves.push_back(argument);
  return dependents(graph, leaves, Along::gradients);
}

// Returns the tensor from which `t` can be rematerialized cheaply: the operand behind broadcasts,
// reshapes, transposes and converts.
Tensor source_of(Tensor t) {
  for (;;) {
    const Node& node = t.node();
    if (node.op->saving != RematClass::moved ||
        node.inputs[0].shape().size_bytes() > t.shape().size_bytes())
      return t;
    t = node.inputs[0];
  }
}

bool is_kept(const Node& node) {
  if (node.op->saving != RematClass::matmul) return node.op->saving == RematClass::saved;
  const std::int64_t size = node.results[0].elements();
  return node.attrs.dims("batch_a").empty() || size <= node.inputs[0].shape().elements() ||
         size <= node.inputs[1].shape().elements();
}

void check_carried_shapes(const Tensors& before, const Tensors& after) {
  CHECK(before.size() == after.size(), after.size(), " carried of ", before.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].shape() != after[i].shape())
      throw UsageError(str("scan: carried value ", i, " has shape ", before[i].shape(),
                           " before and ", after[i].shape(), " after an iteration"),
                       "keep the shape of every carried value");
}

// Returns the values that the forward pass stores for the reverse pass under policy `save`. Forward
// nodes have ids below `forward_nodes`. Only values that depend on the carry are stored (on
// `slices`, if the body has no carry); all others are recomputed.
Tensors saved_for(const Tensors& gradients, const Tensors& carry, const Tensors& slices,
                  std::int64_t forward_nodes, RematPolicy save) {
  if (gradients.empty()) return {};
  const auto varying =
      dependents(gradients[0].graph(), carry.empty() ? slices : carry, Along::values);
  const auto has = [](const Tensors& all, Tensor t) {
    return std::ranges::find(all, t) != all.end();
  };
  Tensors saved;
  std::unordered_set<Tensor> seen;
  Tensors open = gradients;
  const auto visit = [&](Tensor t, bool from_reverse) {
    const bool forward = t.node().id < forward_nodes;
    if (forward && save == RematPolicy::all && from_reverse) t = source_of(t);
    if (!seen.insert(t).second || (forward && !varying.contains(&t.node()))) return;
    if (has(slices, t)) return;  // an input of the reverse pass anyway
    const bool keep = has(carry, t) || (forward && save == RematPolicy::all && from_reverse) ||
                      (forward && save == RematPolicy::products && is_kept(t.node()));
    (keep ? saved : open).push_back(t);
  };
  while (!open.empty()) {
    const Tensor t = open.back();
    open.pop_back();
    const bool from_reverse = t.node().id >= forward_nodes;
    for (const Tensor& input : t.node().inputs) visit(input, from_reverse);
  }
  std::ranges::sort(saved, {}, [](Tensor t) { return t.node().id; });
  return saved;
}

}  // namespace

ScanBody::ScanBody(Graph& outer, std::int64_t length)
    : length_(length), graph_(&outer), index_(graph_.argument({DType::s32, {}})) {}

Tensor ScanBody::slice(Tensor stacked) {
  if (stacked.rank() < 1 || stacked.dim(0) != length_)
    throw UsageError(str("scan: the first dimension of ", stacked.shape(),
                         " must equal the number of iterations, ", length_),
                     "stack one value per iteration");
  const Tensor outside = outer().capture(stacked);
  Dims dims = stacked.dims();
  dims.erase(dims.begin());
  slices_.emplace_back(outside, graph_.argument({stacked.dtype(), std::move(dims)}));
  return slices_.back().second;
}

// Builds the body once and its reverse pass in the same graph, then copies both into regions with
// their arguments in the order that kScan expects.
class ScanBuilder {
 public:
  ScanBuilder(Graph& graph, std::int64_t length) : outer_(graph), body_(graph, length) {}

  ScanStep build(const Tensors& init, RematPolicy save, const ScanFunction& function) {
    const Tensors carry = arguments_like(init);
    const ScanStep step = function(body_, carry);
    check_carried_shapes(carry, step.carry);
    for (const Tensors& list : {step.carry, step.outputs})
      for (const Tensor& t : list) results_.push_back(body_.graph_.capture(t));
    Tensors inputs = init;
    free_ = {body_.index_};
    for (const auto& [outside, argument] : body_.slices_) {
      inputs.push_back(outside);
      free_.push_back(argument);
    }
    for (const auto& [outside, argument] : body_.graph_.captured()) {
      inputs.push_back(outside);
      free_.push_back(argument);
    }
    std::vector<std::shared_ptr<const Region>> regions(1);
    if (save != RematPolicy::none) regions.push_back(reverse(carry, inputs, save));
    regions[0] = forward(carry);
    const Node& node = outer_.apply(kScan, inputs,
                                    {{"length", body_.length_},
                                     {"carried", std::ssize(carry)},
                                     {"stacked", std::ssize(body_.slices_)},
                                     {"outputs", std::ssize(step.outputs)},
                                     {"reverse", std::int64_t{0}},
                                     {"gradient_of", gradient_of_}},
                                    std::move(regions));
    ScanStep out;
    for (std::size_t i = 0; i < results_.size(); ++i)
      (i < carry.size() ? out.carry : out.outputs).emplace_back(&node, static_cast<int>(i));
    return out;
  }

 private:
  Tensors arguments_like(const Tensors& tensors) {
    Tensors out;
    for (const Tensor& t : tensors) out.push_back(body_.graph_.argument(t.shape()));
    return out;
  }

  // Returns the forward region. `free_` is {index, slices, captured}: the arguments that both
  // passes share.
  std::shared_ptr<const Region> forward(const Tensors& carry) const {
    Tensors arguments{free_[0]};
    append(arguments, carry);
    arguments.insert(arguments.end(), free_.begin() + 1, free_.end());
    Tensors results = results_;
    append(results, saved_);
    return region_of(arguments, results);
  }

  std::shared_ptr<const Region> reverse(const Tensors& carry, const Tensors& inputs,
                                        RematPolicy save) {
    const auto forward_nodes = std::ssize(body_.graph_.nodes());
    const Tensors seeds = arguments_like(results_);
    Tensors results, cotangents, wrt;
    for (std::size_t i = 0; i < results_.size(); ++i)
      if (is_float(results_[i].dtype())) {
        results.push_back(results_[i]);
        cotangents.push_back(seeds[i]);
      }
    Tensors own = carry;  // body arguments in the order of `inputs`
    own.insert(own.end(), free_.begin() + 1, free_.end());
    const auto outside = with_gradients(outer_);
    Dims wanted;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (is_float(own[i].dtype()) && (i < carry.size() || outside.contains(&inputs[i].node()))) {
        wanted.push_back(static_cast<std::int64_t>(i));
        wrt.push_back(own[i]);
      }
    const Tensors found = pullback(results, cotangents, wrt);
    Tensors gradients;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i]) {
        gradients.push_back(found[i]);
        gradient_of_.push_back(wanted[i]);
      }
    const Tensors slices(free_.begin() + 1, free_.begin() + 1 + std::ssize(body_.slices_));
    saved_ = saved_for(gradients, carry, slices, forward_nodes, save);
    Tensors arguments{free_[0]};
    append(arguments, seeds);
    append(arguments, saved_);
    arguments.insert(arguments.end(), free_.begin() + 1, free_.end());
    return region_of(arguments, gradients);
  }

  Graph& outer_;
  ScanBody body_;
  Tensors results_, free_, saved_;
  Dims gradient_of_;
};

ScanStep scan(Graph& graph, std::int64_t length, const std::vector<Tensor>& init, RematPolicy save,
              const ScanFunction& body) {
  if (length < 1)
    throw UsageError(str("scan: length is ", length, ", must be at least 1"),
                     "pass a positive number of iterations");
  return ScanBuilder(graph, length).build(init, save, body);
}

}  // namespace smelt::compiler
