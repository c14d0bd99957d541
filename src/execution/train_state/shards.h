// Shards of a tensor on the devices of a mesh.
#pragma once

#include <cstdint>

#include "compiler/ir/mesh.h"

namespace smelt::execution {

// Returns the shape of each device's shard.
compiler::Shape part_shape(const compiler::Mesh& mesh, const compiler::Sharding& sharding,
                           const compiler::Shape& whole);

// Returns the index of the first element of a device's shard. Devices are numbered with the last
// mesh axis varying fastest.
compiler::Dims part_begin(const compiler::Mesh& mesh, const compiler::Sharding& sharding,
                          const compiler::Shape& whole, std::int64_t device);

}  // namespace smelt::execution
