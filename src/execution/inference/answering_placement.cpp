#include "execution/inference/answering_placement.h"

#include <memory>

namespace smelt::execution {

model::ShardingPlan answering_placement(std::string_view platform, std::int64_t devices,
                                        const model::MeshChoice& mesh, const DimNamesOf& names) {
  model::PartitionRules partition = model::partition_for(mesh, devices, flag);
  model::ShardingPlan out = model::placement_for(platform, devices, model::Reduction::global);
  out.spread = model::Parallelism::mesh;
  out.partition = std::move(partition);
  out.partition.names = names;
  return out;
}

model::ComputePolicy with_int8_matmuls(const checkpoint::SlicedTensors& weights,
                                       model::ComputePolicy compute) {
  model::CodedKernels kernels;
  for (const auto& [name, tensor] : weights)
    if (tensor.shape.dtype == compiler::DType::s8)
      kernels[name] = weights.contains(model::input_scale_name(name)) ? model::RowScales::given
                                                                      : model::RowScales::own;
  if (kernels.empty()) return compute;
  compute.layers = model::Layers::unrolled;
  compute.in_codes = std::make_shared<const model::CodedKernels>(std::move(kernels));
  return compute;
}

}  // namespace smelt::execution
