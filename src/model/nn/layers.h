// Layers as functions of a scope. "..." stands for any leading dimensions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/nn/random.h"
#include "model/nn/scope.h"

namespace smelt::model {

// Converts x to f32 if its type is narrower. Norms, softmax, activations and sums are computed in
// f32 and return the type of their operand.
compiler::Tensor in_f32(compiler::Tensor x);
compiler::Tensor mean(compiler::Tensor x,
                      const compiler::Dims& axes);  // keeps the axes with size 1
compiler::Tensor square(compiler::Tensor x);
// Softmax over the last axis.
compiler::Tensor softmax(compiler::Tensor x);
// The numerator and denominator of softmax in f32: exp(x - maximum) and the sums [..., 1].
struct Exponentials {
  compiler::Tensor exponentials, sums;
};
Exponentials softmax_exponentials(compiler::Tensor x);
// Returns log(sum(exp(x))) over the last axis, which is removed.
compiler::Tensor log_sum_exp(compiler::Tensor x);
// Returns [..., depth] with 0 and 1 in `dtype`.
compiler::Tensor one_hot(compiler::Tensor ids, std::int64_t depth, compiler::DType dtype);

// Returns 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))), the approximation in the original BERT
// (Hendrycks & Gimpel 2016).
compiler::Tensor gelu_tanh(compiler::Tensor x);
// Returns the exact form, 0.5x(1 + erf(x / sqrt(2))).
compiler::Tensor gelu_erf(compiler::Tensor x);
compiler::Tensor relu(compiler::Tensor x);
// The form of gelu that a model uses.
enum class Gelu { tanh, erf };
// The name of gelu by erf for models whose "gelu" is the tanh approximation (BERT).
inline constexpr const char* kGeluErf = "gelu_erf";
// Applies "linear", "relu", "gelu", "tanh" or kGeluErf. Throws UsageError for another name.
compiler::Tensor activation(std::string_view name, compiler::Tensor x, Gelu gelu = Gelu::tanh);
// Returns the names that activation() accepts.
const std::vector<std::string>& activation_names();

// Returns the rows of a position table [M,E] at `positions` s32 [B,S]: [B,S,E]. If `positions` is
// empty returns the first S rows: [S,E].
compiler::Tensor rows_of_positions(compiler::Tensor table, compiler::Tensor positions,
                                   std::int64_t S);

// Returns TensorFlow's default initializer of kernels (Glorot & Bengio 2010).
Init glorot_uniform(std::int64_t in, std::int64_t out);

// Dense layer: [..., in] x kernel [in, out] + bias [out]; declares "kernel" and "bias".
compiler::Tensor dense(const Scope& s, compiler::Tensor x, std::int64_t out, Init kernel);
// One of several dense layers on the same input.
struct DenseLayer {
  Scope scope;
  Init kernel;
};
// Applies dense layers with `out` outputs each to the same input; returns one result per layer.
std::vector<compiler::Tensor> fused_dense(std::span<const DenseLayer> layers, compiler::Tensor x,
                                          std::int64_t out);
// Multiplies x [..., in] with each kernel [in, out], without biases. Results have the type of x.
// Uses one joined matmul if ComputePolicy::joined_products is set. Quantized kernels
// (QuantizedKernel) use integer matmuls on quantized rows of x, with a scale per row or the
// kernel's input_scale. Within layers, ComputePolicy::fake_quant emulates quantization.
std::vector<compiler::Tensor> fused_matmul(const Scope& s, compiler::Tensor x,
                                           const std::vector<compiler::Tensor>& kernels);
// The parameter names of a layer norm: TensorFlow's by default; kFlaxNorm has Flax's. If `shift` is
// null, the norm has no shift.
struct NormNames {
  const char *scale = "gamma", *shift = "beta";
};
constexpr NormNames kFlaxNorm{.scale = "scale", .shift = "bias"};
// Layer norm over the last axis (Ba et al. 2016).
compiler::Tensor layer_norm(const Scope& s, compiler::Tensor x, double epsilon,
                            const NormNames& names = {});
// RMS norm (Zhang & Sennrich 2019): x over its root mean square, times the parameter "scale".
compiler::Tensor rms_norm(const Scope& s, compiler::Tensor x, double epsilon);
// Dropout (Srivastava et al. 2014): zeroes elements with probability `rate` and scales the rest by
// 1/(1-rate), with the scope's random bits. If x is a block of a larger tensor, `block` is its
// position there.
compiler::Tensor dropout(const Scope& s, compiler::Tensor x, double rate,
                         const std::optional<Block>& block = {});
// Dropout without the scale 1 / (1 - rate).
compiler::Tensor dropout_unscaled(const Scope& s, compiler::Tensor x, double rate,
                                  const std::optional<Block>& block = {});

// Returns log(1 + e^x) - x * label elementwise: binary cross entropy of logits x. The gradient is
// logistic(x) - label everywhere, also at 0.
compiler::Tensor sigmoid_cross_entropy(compiler::Tensor logits, compiler::Tensor labels);
// Returns -log p(label) per row: logits [N, V], labels s32 [N] -> [N].
compiler::Tensor cross_entropy(compiler::Tensor logits, compiler::Tensor labels);

}  // namespace smelt::model
