// A matrix as a folder holds it in codes, of eight bits or four.
//   R rows, output channels or words   C columns
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/formats/lazy_tensor.h"

namespace smelt {

class PruneRows;

struct QuantizedMatrix {
  LazyTensors tensors;  // by what follows the matrix's own name; its codes of eight bits by nothing
  std::int64_t rows = 0;
  std::function<std::vector<float>()> said;  // [R,C]: what the codes say
};

// Both read the matrix f32 [R,C] when they are read. UsageError then, beginning with `what`, for a
// value that is not finite.
QuantizedMatrix in_eight_bits(const LazyTensor& matrix, const std::string& what);

// Matrices by module, as Hugging Face names it, in groups of so many columns. UsageError, which
// `where` begins, for one that they do not divide.
using Matrices = std::map<std::string, LazyTensor>;
using CodedMatrices = std::map<std::string, QuantizedMatrix>;
// Each value to its nearest code.
CodedMatrices in_four_bits(const Matrices& matrices, std::int64_t group, const std::string& where);
// By what the rows make of a model's products (compress/gptq.h).
CodedMatrices in_four_bits_by(const PruneRows& rows, const Matrices& matrices, std::int64_t group,
                              const std::string& where);

}  // namespace smelt
