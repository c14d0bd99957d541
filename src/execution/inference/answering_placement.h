// Where a trained model lies that answers a batch of texts at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "checkpoint/storage/slices.h"
#include "model/nn/partition_rules.h"
#include "model/train_step/sharding_plan.h"

namespace smelt {

using DimNamesOf = std::function<DimNames(std::string_view parameter)>;

// One program over a mesh, on any platform: what is asked of many devices is answered once. `names`
// are those of the model's dimensions, without which none of its parameters is split. UsageError,
// in the words of flags, for a mesh that does not fit the devices.
ShardingPlan answering_placement(std::string_view platform, std::int64_t devices,
                                 const MeshChoice& mesh = {}, const DimNamesOf& names = {});

// `compute` of a model with these weights: what lies among them as codes is multiplied as such, in
// unrolled layers, as some may be floats.
ComputePolicy with_codes_of(const SlicedTensors& weights, ComputePolicy compute);

}  // namespace smelt
