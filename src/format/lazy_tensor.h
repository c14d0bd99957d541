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
};

using LazyTensors = std::map<std::string, LazyTensor, std::less<>>;

}  // namespace smelt
