// Tensors that are read or made when they are wanted, one at a time: what is larger than memory
// passes through.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ir/shape.h"

namespace smelt {

struct LazyTensor {
  Shape shape;
  // shape.size_bytes() bytes, row-major, little-endian; may throw as its source does. Each call
  // reads or makes them again.
  std::function<std::vector<std::byte>()> read;
  // Of a matrix, where that costs less than turning what was read: the same transposed, or empty.
  std::function<std::vector<std::byte>()> read_transposed = {};
};

using LazyTensors = std::map<std::string, LazyTensor, std::less<>>;

}  // namespace smelt
