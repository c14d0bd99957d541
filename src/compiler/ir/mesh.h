// Device meshes with named axes, and shardings over them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/attrs.h"

namespace smelt::compiler {

// The device mesh: axes in order with their sizes, e.g. {{"data", 8}}.
using Mesh = std::vector<std::pair<std::string, std::int64_t>>;

// Returns the size of the axis, or 0 if the mesh has no such axis.
inline std::int64_t axis_size(const Mesh& mesh, std::string_view axis) {
  for (const auto& [name, size] : mesh)
    if (name == axis) return size;
  return 0;
}

// The sharding of a value as in Shardy: for each dimension the mesh axes that split it (none: not
// split). An empty list means replicated.
struct Sharding {
  DimAxes axes;
  bool operator==(const Sharding&) const = default;
};

}  // namespace smelt::compiler
