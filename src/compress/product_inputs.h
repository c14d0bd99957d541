// What the products of a model are given over labelled rows: asked for on the way to its losses.
//   T tokens of a batch, with padding   C inputs of a product
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt {

// Rows that several products may take.
struct ProductInput {
  std::vector<std::string> parameters;  // theirs, [C, outputs] each
  std::int64_t tokens = 0;              // T
  std::int64_t columns = 0;             // C
};

// "bert.encoder.layer.3.output.dense" -> "bert/encoder/layer_3/output/dense/kernel", and
// "encoder.block.3.layer.1.DenseReluDense.wi" ->
// "encoder/block_3/layer_001/DenseReluDense/wi/kernel"
std::string kernel_of(std::string module);

// Those of these parameters' products, each once.
std::vector<ProductInput> product_inputs(const Task& task,
                                         const std::vector<std::string>& parameters,
                                         const RowPass& pass);

// Takes one input after another, in groups whose sizes add up to no more than `most`, or of one.
void each_group(const std::vector<ProductInput>& inputs,
                const std::function<std::size_t(const ProductInput& input)>& size, std::size_t most,
                const std::function<void(std::vector<ProductInput> group)>& take);

// One pass over the rows for `outputs` of each input: of its rows f32 [T,C], and f32 [T,1] that is
// 1 of a token and 0 of padding. `take` is given the numbers of the input and of its output.
struct AskedInputs {
  std::size_t outputs = 1;
  std::function<std::vector<Tensor>(const ProductInput& input, Tensor rows, Tensor counts)> of;
  std::function<void(std::size_t input, std::size_t output, std::span<const float> values)> take;
};
void ask_inputs(const Task& task, const std::vector<ProductInput>& inputs, const RowPass& pass,
                const AskedInputs& asked);

}  // namespace smelt
