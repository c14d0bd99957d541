// Devices as a mesh with named axes, and how values lie on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/attrs.h"

namespace smelt {

// The device mesh: axes in order with their sizes, e.g. {{"data", 8}}.
using Mesh = std::vector<std::pair<std::string, std::int64_t>>;

// 0: the mesh has no such axis.
std::int64_t axis_size(const Mesh& mesh, std::string_view axis);

// How a value is laid over the devices, by Shardy: the mesh axes that split each dimension, none
// of them for one that is whole; an empty list = replicated.
struct Sharding {
  DimAxes axes;
  bool operator==(const Sharding&) const = default;
};

}  // namespace smelt
