// Tensors that are read or computed on demand, one at a time, so that a model need not fit in
// memory.
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

namespace smelt::io {

// Writes all bytes of a tensor to the span. May be called repeatedly and from several threads.
using PutBytes = std::function<void(std::span<std::byte>)>;

struct LazyCodes;

struct LazyTensor {
  compiler::Shape shape;
  // shape.size_bytes() bytes, row-major, little-endian; may throw as its source does. Each call
  // reads or makes them again.
  std::function<std::vector<std::byte>()> read;
  // Reads a matrix transposed, if that is cheaper than transposing afterwards; may be empty.
  std::function<std::vector<std::byte>()> read_transposed = {};
  // For tensors that are stored in fewer bytes than they have: read those bytes, and return a
  // function that writes all; for a matrix also transposed. May be empty.
  std::function<PutBytes()> read_stored = {}, read_stored_transposed = {};
  // The 8-bit integers of a quantized matrix, or null.
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

}  // namespace smelt::io
