// Quantizes a matrix to int8 or int4, in the layout of compressed-tensors.
//   R rows, which are output channels or vocabulary entries   C columns
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/formats/lazy_tensor.h"

namespace smelt::compress {

class PruneRows;

// A quantized matrix.
struct QuantizedMatrix {
  // The stored tensors. The key is the suffix to append to the matrix's name; that of int8 values
  // is "".
  io::LazyTensors tensors;
  std::int64_t rows = 0;
  std::function<std::vector<float>()> dequantized;  // returns f32 values [R,C]
};

// Quantizes a matrix f32 [R,C] to int8 lazily: reads it only when a result is read. Reading throws
// UsageError, which begins with `what`, if a value is not finite.
QuantizedMatrix to_int8(const io::LazyTensor& matrix, const std::string& what);

// Matrices by Hugging Face's module name. The functions below quantize them to int4 in groups of
// `group` columns. They throw UsageError, which begins with `where`, if the columns of a matrix are
// not divisible by `group`.
using Matrices = std::map<std::string, io::LazyTensor>;
using QuantizedMatrices = std::map<std::string, QuantizedMatrix>;
// Rounds each value to nearest.
QuantizedMatrices to_int4_nearest(const Matrices& matrices, std::int64_t group,
                                  const std::string& where);
// Rounds by GPTQ with the calibration data `rows` (compress/gptq.h).
QuantizedMatrices to_int4_gptq(const PruneRows& rows, const Matrices& matrices, std::int64_t group,
                               const std::string& where);

}  // namespace smelt::compress
