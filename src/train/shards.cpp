#include "train/shards.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace smelt {
namespace {

std::int64_t mesh_size(const Mesh& mesh, const std::string& axis) {
  const std::int64_t size = axis_size(mesh, axis);
  CHECK(size > 0, axis);
  return size;
}

// Where the device stands on an axis.
std::int64_t coordinate(const Mesh& mesh, const std::string& axis, std::int64_t device) {
  for (auto it = mesh.rbegin(); it != mesh.rend(); ++it) {
    if (it->first == axis) return device % it->second;
    device /= it->second;
  }
  CHECK(false, axis);
}

// Calls run(offset in the whole, offset in the part, bytes) for each run of neighbours.
template <class Run>
void for_each_run(const Mesh& mesh, const Sharding& sharding, const Shape& whole,
                  std::int64_t device, Run run) {
  const Shape part = part_shape(mesh, sharding, whole);
  const auto rank = static_cast<std::size_t>(whole.rank());
  Dims begin(rank, 0), index(rank, 0);
  for (std::size_t i = 0; i < sharding.axes.size(); ++i)
    for (const std::string& axis : sharding.axes[i])
      begin[i] = begin[i] * mesh_size(mesh, axis) + coordinate(mesh, axis, device);
  for (std::size_t i = 0; i < rank; ++i) begin[i] *= part.dims[i];
  const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(part.dims.back());
  const std::size_t bytes = row * dtype_size_bytes(whole.dtype);
  for (std::size_t at = 0; at < part.size_bytes(); at += bytes) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < rank; ++i) offset = offset * whole.dims[i] + begin[i] + index[i];
    run(static_cast<std::size_t>(offset) * dtype_size_bytes(whole.dtype), at, bytes);
    for (std::size_t i = rank < 2 ? 0 : rank - 1; i-- > 0;) {  // the next row
      if (++index[i] < part.dims[i]) break;
      index[i] = 0;
    }
  }
}

}  // namespace

bool is_whole(const Sharding& sharding) {
  return std::ranges::all_of(sharding.axes, [](const auto& axes) { return axes.empty(); });
}

Shape part_shape(const Mesh& mesh, const Sharding& sharding, const Shape& whole) {
  Shape part = whole;
  for (std::size_t i = 0; i < sharding.axes.size(); ++i)
    for (const std::string& axis : sharding.axes[i]) part.dims[i] /= mesh_size(mesh, axis);
  return part;
}

std::int64_t part_number(const Mesh& mesh, const Sharding& sharding, std::int64_t device) {
  std::int64_t number = 0;
  for (const auto& axes : sharding.axes)
    for (const std::string& axis : axes)
      number = number * mesh_size(mesh, axis) + coordinate(mesh, axis, device);
  return number;
}

void take_part(const Mesh& mesh, const Sharding& sharding, const Shape& whole, std::int64_t device,
               std::span<const std::byte> from, std::span<std::byte> part) {
  for_each_run(mesh, sharding, whole, device, [&](std::size_t at, std::size_t to, std::size_t n) {
    std::memcpy(part.data() + to, from.data() + at, n);
  });
}

void place_part(const Mesh& mesh, const Sharding& sharding, const Shape& whole, std::int64_t device,
                std::span<const std::byte> part, std::span<std::byte> to) {
  for_each_run(mesh, sharding, whole, device, [&](std::size_t at, std::size_t from, std::size_t n) {
    std::memcpy(to.data() + at, part.data() + from, n);
  });
}

}  // namespace smelt
