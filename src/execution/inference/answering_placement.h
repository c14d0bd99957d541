// Sharding and compute policy for batched inference.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "checkpoint/storage/slices.h"
#include "model/nn/partition_rules.h"
#include "model/train_step/sharding_plan.h"

namespace smelt::execution {

using DimNamesOf = std::function<model::DimNames(std::string_view parameter)>;

// Returns the placement for inference: one program over a mesh, on every platform. `names` returns
// the dimension names of a parameter; without it no parameter is sharded. Throws UsageError, which
// names the flags, if the mesh does not fit the number of devices.
model::ShardingPlan answering_placement(std::string_view platform, std::int64_t devices,
                                        const model::MeshChoice& mesh = {},
                                        const DimNamesOf& names = {});

// Returns `compute`, changed for int8 weights: if some kernels are int8, matmuls with them run in
// int8, and the layers are unrolled because other layers may have float kernels.
model::ComputePolicy with_int8_matmuls(const checkpoint::SlicedTensors& weights,
                                       model::ComputePolicy compute);

}  // namespace smelt::execution
