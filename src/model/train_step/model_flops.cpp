#include "model/train_step/model_flops.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/autodiff/scan_op.h"
#include "compiler/ops/table.h"
#include "model/nn/scope.h"

namespace smelt::model {

using compiler::Dims;
using compiler::DType;
using compiler::Graph;
using compiler::kDotGeneral;
using compiler::kScan;
using compiler::Node;
using compiler::reachable;
using compiler::Tensor;
namespace {

double dot_flops(const Node& node) {
  double contracted = 1;
  for (const std::int64_t axis : node.attrs.dims("contract_a"))
    contracted *= static_cast<double>(node.inputs[0].dim(axis));
  return 2 * contracted * static_cast<double>(node.results[0].elements());
}

double flops_of(const Node& node) {
  if (node.op == &kDotGeneral) return dot_flops(node);
  if (node.op != &kScan) return 0;
  return static_cast<double>(node.attrs.integer("length")) *
         product_flops(node.regions[0]->results);
}

// Counts operations that depend on trained parameters three times, others (such as a teacher's)
// once.
double step_flops(std::span<const Tensor> losses, const Parameters& parameters) {
  std::unordered_set<const Node*> trained;
  for (const Parameter& p : parameters.all()) trained.insert(&p.tensor.node());
  double sum = 0;
  for (const Node* node : reachable(losses)) {
    if (std::ranges::any_of(node->inputs,
                            [&](const Tensor& in) { return trained.contains(&in.node()); }))
      trained.insert(node);
    sum += (trained.contains(node) ? 3 : 1) * flops_of(*node);
  }
  return sum;
}

}  // namespace

double product_flops(std::span<const Tensor> results) {
  double sum = 0;
  for (const Node* node : reachable(results)) sum += flops_of(*node);
  return sum;
}

double training_flops(const Task& task, std::int64_t rows) {
  Graph graph;
  std::vector<Tensor> batch;
  for (const io::Feature& feature : task.features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), rows);
    batch.push_back(graph.argument({feature.dtype, std::move(dims)}));
  }
  Parameters parameters;
  // A scan builds only one layer, whatever the number of layers.
  const Scope root(graph, parameters,
                   RandomSource{.seed = 0, .step = graph.argument({DType::s32, {}})},
                   ComputePolicy{.layers = Layers::scan});
  std::vector<Tensor> losses;
  for (const Metric& m : task.objective(root, Inputs(task.features, batch)).losses)
    losses.push_back(m.sum);
  return step_flops(losses, parameters) / static_cast<double>(rows);
}

}  // namespace smelt::model
