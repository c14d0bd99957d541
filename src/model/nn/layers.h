// Layers as plain functions over a scope. Shapes: ... = any leading dimensions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/nn/random.h"
#include "model/nn/scope.h"

namespace smelt {

// x, or its f32 where it is narrower: what norms, softmax, activations and sums are computed in.
// Each gives its result in the type of its operand.
Tensor in_f32(Tensor x);
Tensor mean(Tensor x, const Dims& axes);  // axes are kept with size 1
Tensor square(Tensor x);
// Over the last axis.
Tensor softmax(Tensor x);
// Its two halves, in f32: exp(x - the largest) and their sums [..., 1].
struct Exponentials {
  Tensor exponentials, sums;
};
Exponentials softmax_exponentials(Tensor x);
// log(sum(exp(x))) over the last axis, which is dropped.
Tensor log_sum_exp(Tensor x);
// [..., depth] of 0 and 1 in `dtype`.
Tensor one_hot(Tensor ids, std::int64_t depth, DType dtype);

// 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))), the approximation of the original BERT
// (Hendrycks & Gimpel 2016).
Tensor gelu_tanh(Tensor x);
Tensor gelu_erf(Tensor x);
Tensor relu(Tensor x);
// What a model means by "gelu".
enum class Gelu { tanh, erf };
// linear, relu, gelu, tanh as the original's names; UsageError with the known ones otherwise.
Tensor activation(std::string_view name, Tensor x, Gelu gelu = Gelu::tanh);
const std::vector<std::string>& activation_names();

// The rows of a table of learned positions [M,E] at `positions` s32 [B,S]: [B,S,E]; empty: the
// first S rows, [S,E].
Tensor rows_of_positions(Tensor table, Tensor positions, std::int64_t S);

// How TensorFlow starts a kernel that is told nothing (Glorot & Bengio 2010).
Init glorot_uniform(std::int64_t in, std::int64_t out);

// [..., in] x kernel [in, out] + bias [out]; parameters "kernel" and "bias".
Tensor dense(const Scope& s, Tensor x, std::int64_t out, Init kernel);
// Several dense layers of one input; one result for each.
struct DenseLayer {
  Scope scope;
  Init kernel;
};
std::vector<Tensor> fused_dense(std::span<const DenseLayer> layers, Tensor x, std::int64_t out);
// x [..., in] x each kernel [in, out], of the type of x, as `s` computes several products of one
// input; in integers where the kernel is in codes (QuantizedKernel), by rows of x in codes, each of
// its own scale or all of the kernel's input_scale, and within a layer as if so where
// Compute::fake_quant says it. Without biases.
std::vector<Tensor> fused_matmul(const Scope& s, Tensor x, const std::vector<Tensor>& kernels);
// What a layer norm's parameters are called: TensorFlow's names, and Flax's.
struct NormNames {
  const char *scale = "gamma", *shift = "beta";
};
constexpr NormNames kFlaxNorm{.scale = "scale", .shift = "bias"};
// Over the last axis (Ba et al. 2016).
Tensor layer_norm(const Scope& s, Tensor x, double epsilon, const NormNames& names = {});
// x over its root mean square (Zhang & Sennrich 2019), times the parameter "scale".
Tensor rms_norm(const Scope& s, Tensor x, double epsilon);
// Zeroes elements with probability `rate` and scales the rest by 1/(1-rate) (Srivastava et al.
// 2014), by the scope's random bits; x may be a block of what they are drawn for.
Tensor dropout(const Scope& s, Tensor x, double rate, const std::optional<Block>& block = {});
// The same without the scale 1 / (1 - rate).
Tensor kept_of(const Scope& s, Tensor x, double rate, const std::optional<Block>& block = {});

// log(1 + e^x) - x * label, elementwise: of a label 1 where x says so by its sign. Its gradient is
// logistic(x) - label everywhere, at 0 too.
Tensor sigmoid_cross_entropy(Tensor logits, Tensor labels);
// -log p(label) of each row: logits [N, V], labels s32 [N] -> [N].
Tensor cross_entropy(Tensor logits, Tensor labels);

}  // namespace smelt
