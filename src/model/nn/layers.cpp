#include "model/nn/layers.h"

#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "compiler/ops/ops.h"
#include "model/nn/fake_quant.h"

namespace smelt::model {

using compiler::abs;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::convert;
using compiler::Dims;
using compiler::dot_general;
using compiler::DType;
using compiler::dtype_size_bytes;
using compiler::erf;
using compiler::exp;
using compiler::full_like;
using compiler::gather_rows;
using compiler::iota;
using compiler::KeepDims;
using compiler::log;
using compiler::log1p;
using compiler::matmul;
using compiler::maximum;
using compiler::minimum;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::round_nearest_even;
using compiler::rounded;
using compiler::select;
using compiler::slice_axis;
using compiler::sqrt;
using compiler::stop_gradient;
using compiler::tanh;
using compiler::Tensor;
using compiler::zeros_like;

Tensor in_f32(Tensor x) { return dtype_size_bytes(x.dtype()) < 4 ? convert(x, DType::f32) : x; }

// Converts a result computed in f32 to the type of x.
static Tensor in_type_of(Tensor x, Tensor result) { return convert(result, x.dtype()); }

Tensor mean(Tensor x, const Dims& axes) {
  double count = 1;
  for (const auto axis : axes) count *= static_cast<double>(x.dim(axis));
  return reduce_sum(x, axes, KeepDims::yes) * (1.0 / count);
}

Tensor square(Tensor x) { return x * x; }

Exponentials softmax_exponentials(Tensor x) {
  const Tensor wide = in_f32(x);
  const Tensor all = exp(wide - stop_gradient(reduce_max(wide, {-1}, KeepDims::yes)));
  return {.exponentials = all, .sums = reduce_sum(all, {-1}, KeepDims::yes)};
}

Tensor softmax(Tensor x) {
  const auto [exponentials, sums] = softmax_exponentials(x);
  return in_type_of(x, exponentials / sums);
}

Tensor log_sum_exp(Tensor x) {
  const Tensor top = stop_gradient(reduce_max(x, {-1}, KeepDims::yes));
  const Tensor sum = log(reduce_sum(exp(x - top), {-1}));
  return sum + reshape(top, sum.dims());
}

Tensor one_hot(Tensor ids, std::int64_t depth, DType dtype) {
  Dims dims = ids.dims();
  dims.push_back(1);
  const Tensor column = reshape(ids, dims);
  dims.back() = depth;
  const Tensor index = iota(ids.graph(), {ids.dtype(), dims}, ids.rank());
  return convert(compare(broadcast_to(column, dims), index, Compare::eq), dtype);
}

Tensor gelu_tanh(Tensor x) {
  const double c = std::sqrt(2.0 / std::numbers::pi);
  return 0.5 * x * (1.0 + tanh(c * (x + 0.044715 * (x * x * x))));
}

Tensor gelu_erf(Tensor x) { return 0.5 * x * (1.0 + erf(x * std::numbers::sqrt2 * 0.5)); }

Tensor relu(Tensor x) { return maximum(x, zeros_like(x)); }

Tensor activation(std::string_view name, Tensor x, Gelu gelu) {
  if (name == "linear") return x;
  if (name == "relu") return relu(x);
  if (name == "gelu")
    return in_type_of(x, gelu == Gelu::erf ? gelu_erf(in_f32(x)) : gelu_tanh(in_f32(x)));
  if (name == kGeluErf) return in_type_of(x, gelu_erf(in_f32(x)));
  if (name == "tanh") return in_type_of(x, tanh(in_f32(x)));
  throw UsageError(str("hidden_act: unknown activation '", name, "'"),
                   did_you_mean(name, activation_names()));
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> kNames{"linear", "relu", "gelu", "tanh", kGeluErf};
  return kNames;
}

Tensor rows_of_positions(Tensor table, Tensor positions, std::int64_t S) {
  return positions ? gather_rows(table, positions) : slice_axis(table, 0, 0, S);
}

Init glorot_uniform(std::int64_t in, std::int64_t out) {
  return {.kind = Init::uniform, .limit = std::sqrt(6.0 / static_cast<double>(in + out))};
}

Tensor dense(const Scope& s, Tensor x, std::int64_t out, Init kernel) {
  return fused_dense(std::array{DenseLayer{s, kernel}}, x, out).front();
}

// Multiplies x [..., in] with each kernel [in, out] in one matmul; returns one result per kernel.
static std::vector<Tensor> joined_matmuls(Tensor x, const std::vector<Tensor>& kernels) {
  const std::int64_t in = x.dim(-1), rows = x.shape().elements() / in, out = kernels[0].dim(1);
  const Tensor all = kernels.size() == 1 ? kernels[0] : concatenate(kernels, 1);
  const Tensor product = matmul(reshape(x, {rows, in}), rounded(all, x.dtype()));
  Dims dims = x.dims();
  dims.back() = out;
  std::vector<Tensor> results;
  for (std::int64_t begin = 0; begin < all.dim(1); begin += out)
    results.push_back(
        reshape(kernels.size() == 1 ? product : slice_axis(product, 1, begin, begin + out), dims));
  return results;
}

namespace {

// Rows [T,I] quantized to int8.
struct QuantizedRows {
  Tensor codes;   // s8 [T,I]
  Tensor scales;  // f32 [T,1], or [1,1] for all
};

// Returns one scale per row: max|x| / 127. The scales of weights are max|x| / 127.5
// (io/formats/int8_rows.h). With that scale the largest value of a row would be exactly between two
// codes, 127 and 128.
Tensor scales_of(Tensor rows) {
  const Tensor largest = reduce_max(abs(rows), {-1}, KeepDims::yes);
  return maximum(largest / 127.0, full_like(largest, 0x1p-23));
}

// Quantizes each row with its own scale if `scale` is empty; otherwise quantizes all rows with
// `scale` and clamps the codes to the range of int8.
QuantizedRows quantized_rows(Tensor x, Tensor scale) {
  const std::int64_t I = x.dim(-1);
  const Tensor rows = reshape(in_f32(x), {x.shape().elements() / I, I});
  const Tensor scales = scale ? reshape(scale, {1, 1}) : scales_of(rows);
  Tensor codes = round_nearest_even(rows / scales);
  if (scale) codes = maximum(minimum(codes, full_like(codes, 127)), full_like(codes, -128));
  return {.codes = convert(codes, DType::s8), .scales = scales};
}

// Multiplies the codes with exact s32 sums and returns the f32 products with both scales.
Tensor quantized_matmul(const QuantizedRows& rows, const QuantizedKernel& kernel) {
  const Tensor sums = dot_general(rows.codes, kernel.codes, {{}, {}, {1}, {1}}, DType::s32);
  return convert(sums, DType::f32) * rows.scales * kernel.scales;
}

std::vector<Tensor> quantized_matmuls(const Scope& s, Tensor x,
                                      const std::vector<Tensor>& kernels) {
  // x quantized with a scale per row: computed once, for all kernels without an input_scale.
  std::optional<QuantizedRows> own;
  std::vector<Tensor> results;
  for (const Tensor& k : kernels) {
    const QuantizedKernel& kernel = *s.coded(k);
    if (!kernel.input_scale && !own) own = quantized_rows(x, {});
    const QuantizedRows rows = kernel.input_scale ? quantized_rows(x, kernel.input_scale) : *own;
    Dims dims = x.dims();
    dims.back() = k.dim(1);
    results.push_back(in_type_of(x, reshape(quantized_matmul(rows, kernel), dims)));
  }
  return results;
}

std::vector<Tensor> float_matmuls(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  if (s.compute().joined_products) return joined_matmuls(x, kernels);
  std::vector<Tensor> results;
  for (const Tensor& k : kernels) results.push_back(matmul(x, rounded(k, x.dtype())));
  return results;
}

// Multiplies fake-quantized operands: a float matmul of the codes, then both scales, in the order
// of quantized_matmul().
std::vector<Tensor> fake_quantized_matmuls(const Scope& s, Tensor x,
                                           const std::vector<Tensor>& kernels) {
  const FakeQuantized rows = fake_rows(in_f32(x));
  std::vector<Tensor> codes, scales;
  for (const Tensor& k : kernels) {
    const FakeQuantized kernel = fake_kernel(k);
    codes.push_back(kernel.codes);
    scales.push_back(kernel.scales);
  }
  std::vector<Tensor> results = float_matmuls(s, in_type_of(x, rows.codes), codes);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = in_type_of(x, in_f32(results[i]) * rows.scales * scales[i]);
  return results;
}

}  // namespace

std::vector<Tensor> fused_matmul(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  std::vector<Tensor> quantized, floats;
  for (const Tensor& k : kernels) (s.coded(k) != nullptr ? quantized : floats).push_back(k);
  const bool fake = s.compute().fake_quant && s.layer();
  if (quantized.empty())
    return fake ? fake_quantized_matmuls(s, x, kernels) : float_matmuls(s, x, kernels);
  if (floats.empty()) return quantized_matmuls(s, x, kernels);
  std::vector<Tensor> results;  // rare: only some kernels are quantized
  for (const Tensor& k : kernels)
    results.push_back(s.coded(k) != nullptr ? quantized_matmuls(s, x, {k})[0]
                                            : float_matmuls(s, x, {k})[0]);
  return results;
}

std::vector<Tensor> fused_dense(std::span<const DenseLayer> layers, Tensor x, std::int64_t out) {
  std::vector<Tensor> kernels, biases;
  for (const auto& [scope, kernel] : layers) {
    kernels.push_back(scope.parameter("kernel", {x.dim(-1), out}, kernel));
    biases.push_back(scope.parameter("bias", {out}, {}));
  }
  std::vector<Tensor> results = fused_matmul(layers.front().scope, x, kernels);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = in_type_of(x, in_f32(results[i]) + biases[i]);
  return results;
}

Tensor layer_norm(const Scope& s, Tensor x, double epsilon, const NormNames& names) {
  const std::int64_t width = x.dim(-1);
  const Tensor beta = names.shift ? s.parameter(names.shift, {width}, {}) : Tensor();
  const Tensor gamma = s.parameter(names.scale, {width}, {.value = 1});
  const Tensor wide = in_f32(x), center = mean(wide, {-1});
  // The variance does not depend on a shift of the center, so its gradient through the center is
  // dropped (second derivatives would differ). The row sums of the backward pass then do not wait
  // for each other.
  const Tensor variance = mean(square(wide - stop_gradient(center)), {-1});
  // Division instead of multiplication by a reciprocal: XLA's CPU fusion duplicates chains of cheap
  // operations into all users, here the residuals of all layers, but it does not duplicate a
  // division (docs/explanation/performance-history.md).
  const Tensor normed = (wide - center) / sqrt(variance + epsilon);
  const Tensor scaled = normed * gamma;
  return in_type_of(x, beta ? scaled + beta : scaled);
}

Tensor rms_norm(const Scope& s, Tensor x, double epsilon) {
  const Tensor scale = s.parameter("scale", {x.dim(-1)}, {.value = 1});
  const Tensor wide = in_f32(x);
  return in_type_of(x, wide / sqrt(mean(square(wide), {-1}) + epsilon) * scale);
}

Tensor dropout_unscaled(const Scope& s, Tensor x, double rate, const std::optional<Block>& block) {
  if (!s.training() || rate == 0) return x;
  return select(random_keep(s, x.dims(), rate, block), x, zeros_like(x));
}

Tensor dropout(const Scope& s, Tensor x, double rate, const std::optional<Block>& block) {
  if (!s.training() || rate == 0) return x;
  const Tensor keep = random_keep(s, x.dims(), rate, block);
  const double scale = 1.0 / (1.0 - rate);
  const Tensor wide = in_f32(x);  // the scale is not representable in bf16
  if (!s.compute().stored_masks) return in_type_of(x, select(keep, wide * scale, zeros_like(wide)));
  // XLA's CPU fusion duplicates cheap operations into every user, but not a square root.
  const Tensor square = full_like(wide, scale * scale);
  return in_type_of(x, wide * sqrt(select(keep, square, zeros_like(square))));
}

Tensor sigmoid_cross_entropy(Tensor x, Tensor labels) {
  const Tensor zero = zeros_like(x), above = compare(x, zero, Compare::ge);
  return select(above, x, zero) - x * labels + log1p(exp(select(above, -x, x)));
}

Tensor cross_entropy(Tensor logits, Tensor labels) {
  const Tensor picked = reduce_sum(logits * one_hot(labels, logits.dim(-1), logits.dtype()), {-1});
  return log_sum_exp(logits) - picked;
}

}  // namespace smelt::model
