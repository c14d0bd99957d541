// Shards of a tensor on the devices of a mesh.
#pragma once

#include <cstdint>

#include "compiler/ir/mesh.h"

namespace smelt {

// Returns the shape of each device's shard.
Shape part_shape(const Mesh& mesh, const Sharding& sharding, const Shape& whole);

// Returns the index of the first element of a device's shard. Devices are numbered with the last
// mesh axis varying fastest.
Dims part_begin(const Mesh& mesh, const Sharding& sharding, const Shape& whole,
                std::int64_t device);

}  // namespace smelt
