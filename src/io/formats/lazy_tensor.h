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

// A function that writes all bytes of a tensor to the span. May be called repeatedly and from
// several threads.
using PutBytes = std::function<void(std::span<std::byte>)>;

struct LazyCodes;

struct LazyTensor {
  compiler::Shape shape;
  // Returns the tensor's shape.size_bytes() bytes, row-major and little-endian. Each call reads or
  // computes them again and may throw the errors of the source.
  std::function<std::vector<std::byte>()> read;
  // Reads a matrix transposed, if that is cheaper than transposing afterwards; may be empty.
  std::function<std::vector<std::byte>()> read_transposed = {};
  // For tensors that are stored in compressed form: read the stored bytes and return a function
  // that writes the full tensor, or the transposed matrix. May be empty.
  std::function<PutBytes()> read_stored = {}, read_stored_transposed = {};
  // The 8-bit integers of a quantized matrix, or null.
  std::shared_ptr<const LazyCodes> codes = {};
};

// A quantized matrix [R,C], or the transpose of one: its codes, s8 [R,C], and a scale per row, f32
// [R]. `input_scale`, f32 [1], is the scale of the quantized inputs of the matmul; if it is
// missing, each input row has its own scale.
struct LazyCodes {
  LazyTensor codes, scales;
  std::optional<LazyTensor> input_scale = {};
  bool of_rows = true;  // whether the inputs are quantized too; false: a float matmul
};

using LazyTensors = std::map<std::string, LazyTensor, std::less<>>;

}  // namespace smelt::io
