// Quantizes a matrix to int8 or int4 as a folder stores it.
//   R rows, output channels or words   C columns
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
  io::LazyTensors tensors;  // by suffix of the matrix's name; "" for int8 values
  std::int64_t rows = 0;
  std::function<std::vector<float>()> said;  // returns the dequantized values [R,C]
};

// Quantizes a matrix f32 [R,C] to int8. Reads it when a result is read; throws UsageError that
// begins with `what` then if a value is not finite.
QuantizedMatrix in_eight_bits(const io::LazyTensor& matrix, const std::string& what);

// Matrices by Hugging Face's module name. The functions below quantize them to int4 in groups of
// `group` columns, and throw UsageError that begins with `where` if that does not divide the
// columns of a matrix.
using Matrices = std::map<std::string, io::LazyTensor>;
using CodedMatrices = std::map<std::string, QuantizedMatrix>;
// Rounds each value to nearest.
CodedMatrices in_four_bits(const Matrices& matrices, std::int64_t group, const std::string& where);
// Rounds by GPTQ with calibration data (compress/gptq.h).
CodedMatrices in_four_bits_by(const PruneRows& rows, const Matrices& matrices, std::int64_t group,
                              const std::string& where);

}  // namespace smelt::compress
