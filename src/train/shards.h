// The parts of a host tensor that the devices of a mesh hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hlo/writer.h"

namespace smelt {

// Whether every device holds all of it.
bool is_whole(const Sharding& sharding);

// The shape of each device's part.
Shape part_shape(const Mesh& mesh, const Sharding& sharding, const Shape& whole);

// The same for devices that hold the same part.
std::int64_t part_number(const Mesh& mesh, const Sharding& sharding, std::int64_t device);

// Copies a device's part out of the whole, or back to its place there. Device d is at the mesh's
// coordinates with the last axis running fastest.
void take_part(const Mesh& mesh, const Sharding& sharding, const Shape& whole, std::int64_t device,
               std::span<const std::byte> from, std::span<std::byte> part);
void place_part(const Mesh& mesh, const Sharding& sharding, const Shape& whole, std::int64_t device,
                std::span<const std::byte> part, std::span<std::byte> to);

}  // namespace smelt
