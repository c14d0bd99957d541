// The parts of a tensor that the devices of a mesh hold.
#pragma once

#include <cstdint>

#include "compiler/ir/mesh.h"

namespace smelt {

// The shape of each device's part.
Shape part_shape(const Mesh& mesh, const Sharding& sharding, const Shape& whole);

// Where a device's part begins in the whole. Device d is at the mesh's coordinates with the last
// axis running fastest.
Dims part_begin(const Mesh& mesh, const Sharding& sharding, const Shape& whole,
                std::int64_t device);

}  // namespace smelt
