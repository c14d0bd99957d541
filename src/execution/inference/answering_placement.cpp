#include "execution/inference/answering_placement.h"

#include <memory>

namespace smelt {

ShardingPlan answering_placement(std::string_view platform, std::int64_t devices,
                                 const MeshChoice& mesh, const DimNamesOf& names) {
  PartitionRules partition = partition_for(mesh, devices, flag);
  ShardingPlan out = placement_for(platform, devices, Reduction::global);
  out.spread = Parallelism::mesh;
  out.partition = std::move(partition);
  out.partition.names = names;
  return out;
}

ComputePolicy with_int8_matmuls(const SlicedTensors& weights, ComputePolicy compute) {
  CodedKernels kernels;
  for (const auto& [name, tensor] : weights)
    if (tensor.shape.dtype == DType::s8)
      kernels[name] = weights.contains(input_scale_name(name)) ? RowScales::given : RowScales::own;
  if (kernels.empty()) return compute;
  compute.layers = Layers::unrolled;
  compute.in_codes = std::make_shared<const CodedKernels>(std::move(kernels));
  return compute;
}

}  // namespace smelt
