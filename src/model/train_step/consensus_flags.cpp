#include "model/train_step/consensus_flags.h"

#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::DimAxes;
using compiler::DType;
using compiler::Graph;
using compiler::Program;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::Sharding;
using compiler::slice_axis;
using compiler::Tensor;

std::vector<Tensor> consensus_flags_argument(Program& program, const ShardingPlan& placement) {
  Graph& graph = program.graph;
  Tensor all;
  if (placement.spread == Parallelism::replicas) {
    all = sum_over_replicas(graph.argument({DType::f32, {2}}), placement);
  } else {
    program.argument_sharding.resize(graph.arguments().size(), Sharding{});
    Sharding& rows = program.argument_sharding.emplace_back(Sharding{DimAxes(2)});
    for (const auto& [axis, size] : placement.partition.mesh) rows.axes[0].push_back(axis);
    all = reduce_sum(graph.argument({DType::f32, {placement.devices, 2}}), {0});
  }
  std::vector<Tensor> out;
  for (std::int64_t i = 0; i < 2; ++i) out.push_back(reshape(slice_axis(all, 0, i, i + 1), {}));
  return out;
}

void report_consensus_flags(const std::vector<Tensor>& counts, std::vector<std::string>& names,
                            std::vector<Tensor>& figures) {
  if (counts.empty()) return;
  names.insert(names.end(), {kStopWishes, kSaveWishes});
  figures.insert(figures.end(), counts.begin(), counts.end());
}

}  // namespace smelt::model
