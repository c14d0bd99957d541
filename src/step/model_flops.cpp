#include "step/model_flops.h"

#include "grad/scan_op.h"
#include "nn/scope.h"
#include "ops/table.h"

namespace smelt {
namespace {

double dot_flops(const Node& node) {
  double contracted = 1;
  for (const std::int64_t axis : node.attrs.dims("contract_a"))
    contracted *= static_cast<double>(node.inputs[0].dim(axis));
  return 2 * contracted * static_cast<double>(node.results[0].elements());
}

}  // namespace

double product_flops(std::span<const Tensor> results) {
  double sum = 0;
  for (const Node* node : reachable(results)) {
    if (node->op == &kDotGeneral) sum += dot_flops(*node);
    if (node->op == &kScan)
      sum += static_cast<double>(node->attrs.integer("length")) *
             product_flops(node->regions[0]->results);
  }
  return sum;
}

double training_flops(const Task& task) {
  Graph graph;
  std::vector<Tensor> batch;
  for (const Feature& feature : task.features) {
    Dims dims = feature.row;
    dims.insert(dims.begin(), 1);
    batch.push_back(graph.argument({feature.dtype, std::move(dims)}));
  }
  Parameters parameters;
  // A loop of layers is built at once, however many they are.
  const Scope root(graph, parameters,
                   RandomSource{.seed = 0, .step = graph.argument({DType::s32, {}})},
                   Compute{.layers = Layers::scan});
  std::vector<Tensor> losses;
  for (const Measure& m : task.objective(root, Inputs(task.features, batch)).losses)
    losses.push_back(m.sum);
  return 3 * product_flops(losses);
}

}  // namespace smelt
