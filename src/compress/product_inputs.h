// Captures the inputs of a model's matmuls over labelled rows, as part of the computation of the
// loss.
//   T tokens of a batch, with padding   C inputs of a matmul
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt::compress {

// An input that one or several matmuls share.
struct ProductInput {
  std::vector<std::string> parameters;  // parameters of the matmuls, [C, outputs] each
  std::int64_t tokens = 0;              // T
  std::int64_t columns = 0;             // C
};

// Returns smelt's parameter name for a Hugging Face module name:
// "bert.encoder.layer.3.output.dense" -> "bert/encoder/layer_3/output/dense/kernel",
// "encoder.block.3.layer.1.DenseReluDense.wi" ->
// "encoder/block_3/layer_001/DenseReluDense/wi/kernel".
std::string kernel_of(std::string module);

// Returns the distinct inputs of the matmuls with these parameters.
std::vector<ProductInput> product_inputs(const model::Task& task,
                                         const std::vector<std::string>& parameters,
                                         const RowPass& pass);

// Calls `take` with groups of inputs, each with a total size of at most `most`. An input that is
// larger forms its own group.
void each_group(const std::vector<ProductInput>& inputs,
                const std::function<std::size_t(const ProductInput& input)>& size, std::size_t most,
                const std::function<void(std::vector<ProductInput> group)>& take);

// Tensors to compute from each input in a pass over the rows. `of` builds `outputs` tensors from
// the input f32 [T,C] and a mask f32 [T,1], which is 1 for tokens and 0 for padding. `take` is
// called for each batch with the index of the input, the index of the output, and its values.
struct InputOutputs {
  std::size_t outputs = 1;
  std::function<std::vector<compiler::Tensor>(const ProductInput& input, compiler::Tensor rows,
                                              compiler::Tensor counts)>
      of;
  std::function<void(std::size_t input, std::size_t output, std::span<const float> values)> take;
};
// Computes `wanted` for all inputs in one pass over the rows.
void run_on_inputs(const model::Task& task, const std::vector<ProductInput>& inputs,
                   const RowPass& pass, const InputOutputs& wanted);

}  // namespace smelt::compress
