// Tensors that are read or made when they are wanted, one at a time: what is larger than memory
// passes through.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt {

// Puts all bytes of a tensor there; as often as it is wanted, by several threads.
using PutBytes = std::function<void(std::span<std::byte>)>;

struct LazyCodes;

struct LazyTensor {
  Shape shape;
  // shape.size_bytes() bytes, row-major, little-endian; may throw as its source does. Each call
  // reads or makes them again.
  std::function<std::vector<std::byte>()> read;
  // Of a matrix, where that costs less than turning what was read: the same transposed, or empty.
  std::function<std::vector<std::byte>()> read_transposed = {};
  // Of what is stored in fewer bytes than it has: reads those alone, and gives what puts all; of a
  // matrix also transposed. Or empty.
  std::function<PutBytes()> read_stored = {}, read_stored_transposed = {};
  // Of a matrix that is stored in codes of eight bits: those; or null.
  std::shared_ptr<const LazyCodes> codes = {};
};

// A matrix [R,C], or its transpose, as codes s8 [R,C] and scales f32 [R] of its rows; and the scale
// f32 [1] of the rows that it is multiplied with, unless each has its own.
struct LazyCodes {
  LazyTensor codes, scales;
  std::optional<LazyTensor> input_scale = {};
  bool of_rows = true;  // these rows are to be rounded, too; else products are of floats
};

using LazyTensors = std::map<std::string, LazyTensor, std::less<>>;

}  // namespace smelt
