#include "compiler/ir/mesh.h"

namespace smelt {

std::int64_t axis_size(const Mesh& mesh, std::string_view axis) {
  for (const auto& [name, size] : mesh)
    if (name == axis) return size;
  return 0;
}

}  // namespace smelt
