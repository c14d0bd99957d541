// Layers as functions of a scope. "..." stands for any leading dimensions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/nn/random.h"
#include "model/nn/scope.h"

namespace smelt {

// Converts x to f32 if its type is narrower. Norms, softmax, activations and sums are computed in
// f32 and return the type of their operand.
Tensor in_f32(Tensor x);
Tensor mean(Tensor x, const Dims& axes);  // keeps the axes with size 1
Tensor square(Tensor x);
// Softmax over the last axis.
Tensor softmax(Tensor x);
// The numerator and denominator of softmax in f32: exp(x - maximum) and the sums [..., 1].
struct Exponentials {
  Tensor exponentials, sums;
};
Exponentials softmax_exponentials(Tensor x);
// Returns log(sum(exp(x))) over the last axis, which is removed.
Tensor log_sum_exp(Tensor x);
// Returns [..., depth] with 0 and 1 in `dtype`.
Tensor one_hot(Tensor ids, std::int64_t depth, DType dtype);

// Returns 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))), the approximation in the original BERT
// (Hendrycks & Gimpel 2016).
Tensor gelu_tanh(Tensor x);
// Returns the exact form, 0.5x(1 + erf(x / sqrt(2))).
Tensor gelu_erf(Tensor x);
Tensor relu(Tensor x);
// The form of gelu that a model uses.
enum class Gelu { tanh, erf };
// Applies "linear", "relu", "gelu" or "tanh". Throws UsageError for another name.
Tensor activation(std::string_view name, Tensor x, Gelu gelu = Gelu::tanh);
// Returns the names that activation() accepts.
const std::vector<std::string>& activation_names();

// Returns the rows of a position table [M,E] at `positions` s32 [B,S]: [B,S,E]. If `positions` is
// empty returns the first S rows: [S,E].
Tensor rows_of_positions(Tensor table, Tensor positions, std::int64_t S);

// Returns TensorFlow's default initializer of kernels (Glorot & Bengio 2010).
Init glorot_uniform(std::int64_t in, std::int64_t out);

// Dense layer: [..., in] x kernel [in, out] + bias [out]; declares "kernel" and "bias".
Tensor dense(const Scope& s, Tensor x, std::int64_t out, Init kernel);
// Several dense layers on the same input; returns one result per layer.
struct DenseLayer {
  Scope scope;
  Init kernel;
};
std::vector<Tensor> fused_dense(std::span<const DenseLayer> layers, Tensor x, std::int64_t out);
// Multiplies x [..., in] with each kernel [in, out], without biases. Results have the type of x.
// Uses one joined matmul if `s` requests it. Quantized kernels (QuantizedKernel) use integer
// matmuls on quantized rows of x, with a scale per row or the kernel's input_scale. Within layers,
// ComputePolicy::fake_quant emulates quantization.
std::vector<Tensor> fused_matmul(const Scope& s, Tensor x, const std::vector<Tensor>& kernels);
// The parameter names of a layer norm: those of TensorFlow, or of Flax.
struct NormNames {
  const char *scale = "gamma", *shift = "beta";
};
constexpr NormNames kFlaxNorm{.scale = "scale", .shift = "bias"};
// Layer norm over the last axis (Ba et al. 2016).
Tensor layer_norm(const Scope& s, Tensor x, double epsilon, const NormNames& names = {});
// RMS norm (Zhang & Sennrich 2019): x over its root mean square, times the parameter "scale".
Tensor rms_norm(const Scope& s, Tensor x, double epsilon);
// Dropout (Srivastava et al. 2014): zeroes elements with probability `rate` and scales the rest by
// 1/(1-rate), with the scope's random bits. x may be a block of a larger tensor.
Tensor dropout(const Scope& s, Tensor x, double rate, const std::optional<Block>& block = {});
// Dropout without the scale 1 / (1 - rate).
Tensor dropout_unscaled(const Scope& s, Tensor x, double rate,
                        const std::optional<Block>& block = {});

// Returns log(1 + e^x) - x * label elementwise: binary cross entropy of logits x. The gradient is
// logistic(x) - label everywhere, also at 0.
Tensor sigmoid_cross_entropy(Tensor logits, Tensor labels);
// Returns -log p(label) per row: logits [N, V], labels s32 [N] -> [N].
Tensor cross_entropy(Tensor logits, Tensor labels);

}  // namespace smelt
