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

// Converts Hugging Face's module name to smelt's parameter name:
// "bert.encoder.layer.3.output.dense" -> "bert/encoder/layer_3/output/dense/kernel",
// "encoder.block.3.layer.1.DenseReluDense.wi" ->
// "encoder/block_3/layer_001/DenseReluDense/wi/kernel".
std::string kernel_of(std::string module);

// Returns the distinct inputs of the matmuls with these parameters.
std::vector<ProductInput> product_inputs(const model::Task& task,
                                         const std::vector<std::string>& parameters,
                                         const RowPass& pass);

// Passes the inputs to `take` in groups with a total size of at most `most`. A larger input is
// passed alone.
void each_group(const std::vector<ProductInput>& inputs,
                const std::function<std::size_t(const ProductInput& input)>& size, std::size_t most,
                const std::function<void(std::vector<ProductInput> group)>& take);

// The outputs to compute for each input in a pass over the rows. `of` adds `outputs` tensors for
// the input's rows f32 [T,C] and a mask f32 [T,1] (1 for a token, 0 for padding). `take` gets the
// index of the input, the index of the output and its values for each batch.
struct AskedInputs {
  std::size_t outputs = 1;
  std::function<std::vector<compiler::Tensor>(const ProductInput& input, compiler::Tensor rows,
                                              compiler::Tensor counts)>
      of;
  std::function<void(std::size_t input, std::size_t output, std::span<const float> values)> take;
};
// Computes that in one pass over the rows.
void ask_inputs(const model::Task& task, const std::vector<ProductInput>& inputs,
                const RowPass& pass, const AskedInputs& asked);

}  // namespace smelt::compress
