#include "execution/train_state/shards.h"

#include "base/error.h"

namespace smelt::execution {
namespace {

std::int64_t mesh_size(const compiler::Mesh& mesh, const std::string& axis) {
  const std::int64_t size = compiler::axis_size(mesh, axis);
  CHECK(size > 0, axis);
  return size;
}

// Returns the device's coordinate on a mesh axis.
std::int64_t coordinate(const compiler::Mesh& mesh, const std::string& axis, std::int64_t device) {
  for (auto it = mesh.rbegin(); it != mesh.rend(); ++it) {
    if (it->first == axis) return device % it->second;
    device /= it->second;
  }
  CHECK(false, axis);
}

}  // namespace

compiler::Shape part_shape(const compiler::Mesh& mesh, const compiler::Sharding& sharding,
                           const compiler::Shape& whole) {
  compiler::Shape part = whole;
  for (std::size_t i = 0; i < sharding.axes.size(); ++i)
    for (const std::string& axis : sharding.axes[i]) part.dims[i] /= mesh_size(mesh, axis);
  return part;
}

compiler::Dims part_begin(const compiler::Mesh& mesh, const compiler::Sharding& sharding,
                          const compiler::Shape& whole, std::int64_t device) {
  const compiler::Shape part = part_shape(mesh, sharding, whole);
  compiler::Dims begin(whole.dims.size());
  for (std::size_t i = 0; i < sharding.axes.size(); ++i)
    for (const std::string& axis : sharding.axes[i])
      begin[i] = begin[i] * mesh_size(mesh, axis) + coordinate(mesh, axis, device);
  for (std::size_t i = 0; i < begin.size(); ++i) begin[i] *= part.dims[i];
  return begin;
}

}  // namespace smelt::execution
