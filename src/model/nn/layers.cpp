#include "model/nn/layers.h"

#include <array>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/error.h"
#include "base/nearest_name.h"
#include "compiler/ops/ops.h"
#include "model/nn/fake_quant.h"

namespace smelt {

Tensor in_f32(Tensor x) { return dtype_size_bytes(x.dtype()) < 4 ? convert(x, DType::f32) : x; }

// What was computed in f32, as x's type.
static Tensor like(Tensor x, Tensor result) { return convert(result, x.dtype()); }

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
  return like(x, exponentials / sums);
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
    return like(x, gelu == Gelu::erf ? gelu_erf(in_f32(x)) : gelu_tanh(in_f32(x)));
  if (name == "tanh") return like(x, tanh(in_f32(x)));
  throw UsageError(str("hidden_act: unknown activation '", name, "'"),
                   did_you_mean(name, activation_names()));
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> kNames{"linear", "relu", "gelu", "tanh"};
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

// x [..., in] times the kernels [in, out], one result for each: as one product of matrices.
static std::vector<Tensor> joined_products(Tensor x, const std::vector<Tensor>& kernels) {
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

// Rows [T,I] as codes.
struct CodedRows {
  Tensor codes;   // s8 [T,I]
  Tensor scales;  // f32 [T,1], or [1,1] for all
};

// By 127, not by weights' 127.5 (io/formats/int8_rows.h), which would make a tie of a row's
// largest.
Tensor scales_of(Tensor rows) {
  const Tensor most = reduce_max(abs(rows), {-1}, KeepDims::yes);
  return maximum(most / 127.0, full_like(most, 0x1p-23));
}

// Each row by a scale of its own, or all by the one that is given: what it does not reach becomes
// the largest code.
CodedRows coded_rows(Tensor x, Tensor given) {
  const std::int64_t I = x.dim(-1);
  const Tensor rows = reshape(in_f32(x), {x.shape().elements() / I, I});
  const Tensor scales = given ? reshape(given, {1, 1}) : scales_of(rows);
  Tensor codes = round_nearest_even(rows / scales);
  if (given) codes = maximum(minimum(codes, full_like(codes, 127)), full_like(codes, -128));
  return {.codes = convert(codes, DType::s8), .scales = scales};
}

// Sums of integers are exact; what they are scaled by is f32.
Tensor coded_product(const CodedRows& rows, const QuantizedKernel& kernel) {
  const Tensor sums = dot_general(rows.codes, kernel.codes, {{}, {}, {1}, {1}}, DType::s32);
  return convert(sums, DType::f32) * rows.scales * kernel.scales;
}

std::vector<Tensor> coded_products(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  std::optional<CodedRows> own;  // one for all of them
  std::vector<Tensor> results;
  for (const Tensor& k : kernels) {
    const QuantizedKernel& kernel = *s.coded(k);
    if (!kernel.input_scale && !own) own = coded_rows(x, {});
    const CodedRows rows = kernel.input_scale ? coded_rows(x, kernel.input_scale) : *own;
    Dims dims = x.dims();
    dims.back() = k.dim(1);
    results.push_back(like(x, reshape(coded_product(rows, kernel), dims)));
  }
  return results;
}

std::vector<Tensor> float_products(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  if (s.compute().joined_products) return joined_products(x, kernels);
  std::vector<Tensor> results;
  for (const Tensor& k : kernels) results.push_back(matmul(x, rounded(k, x.dtype())));
  return results;
}

// Products of codes as numbers, scaled as sums of integers are.
std::vector<Tensor> fake_products(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  const FakeCodes rows = fake_rows(in_f32(x));
  std::vector<Tensor> codes, scales;
  for (const Tensor& k : kernels) {
    const FakeCodes kernel = fake_kernel(k);
    codes.push_back(kernel.codes);
    scales.push_back(kernel.scales);
  }
  std::vector<Tensor> results = float_products(s, like(x, rows.codes), codes);
  for (std::size_t i = 0; i < results.size(); ++i)
    results[i] = like(x, in_f32(results[i]) * rows.scales * scales[i]);
  return results;
}

}  // namespace

std::vector<Tensor> fused_matmul(const Scope& s, Tensor x, const std::vector<Tensor>& kernels) {
  std::vector<Tensor> coded, floats;
  for (const Tensor& k : kernels) (s.coded(k) != nullptr ? coded : floats).push_back(k);
  const bool as_codes = s.compute().fake_quant && s.layer();
  if (coded.empty()) return as_codes ? fake_products(s, x, kernels) : float_products(s, x, kernels);
  if (floats.empty()) return coded_products(s, x, kernels);
  std::vector<Tensor> results;  // few: some fell back to floats
  for (const Tensor& k : kernels)
    results.push_back(s.coded(k) != nullptr ? coded_products(s, x, {k})[0]
                                            : float_products(s, x, {k})[0]);
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
    results[i] = like(x, in_f32(results[i]) + biases[i]);
  return results;
}

Tensor layer_norm(const Scope& s, Tensor x, double epsilon, const NormNames& names) {
  const std::int64_t width = x.dim(-1);
  const Tensor beta = s.parameter(names.shift, {width}, {});
  const Tensor gamma = s.parameter(names.scale, {width}, {.value = 1});
  const Tensor wide = in_f32(x), centre = mean(wide, {-1});
  // The variance does not move with the centre (but its slope does: no second derivatives): without
  // that way back the sums over a row that the gradient needs do not wait for each other.
  const Tensor variance = mean(square(wide - stop_gradient(centre)), {-1});
  // Divided, not multiplied by a reciprocal: XLA's CPU fusion copies chains of cheap operations
  // into each of their users, here the residuals of all layers; it does not copy a division
  // (docs/explanation/performance.md).
  const Tensor normed = (wide - centre) / sqrt(variance + epsilon);
  return like(x, normed * gamma + beta);
}

Tensor rms_norm(const Scope& s, Tensor x, double epsilon) {
  const Tensor scale = s.parameter("scale", {x.dim(-1)}, {.value = 1});
  const Tensor wide = in_f32(x);
  return like(x, wide / sqrt(mean(square(wide), {-1}) + epsilon) * scale);
}

Tensor kept_of(const Scope& s, Tensor x, double rate, const std::optional<Block>& block) {
  if (!s.training() || rate == 0) return x;
  return select(random_keep(s, x.dims(), rate, block), x, zeros_like(x));
}

Tensor dropout(const Scope& s, Tensor x, double rate, const std::optional<Block>& block) {
  if (!s.training() || rate == 0) return x;
  const Tensor keep = random_keep(s, x.dims(), rate, block);
  const double scale = 1.0 / (1.0 - rate);
  const Tensor wide = in_f32(x);  // bf16 has no such scale
  if (!s.compute().stored_masks) return like(x, select(keep, wide * scale, zeros_like(wide)));
  // XLA's CPU fusion copies what is cheap into every user, but not a square root.
  const Tensor square = full_like(wide, scale * scale);
  return like(x, wide * sqrt(select(keep, square, zeros_like(square))));
}

Tensor sigmoid_cross_entropy(Tensor x, Tensor labels) {
  const Tensor zero = zeros_like(x), above = compare(x, zero, Compare::ge);
  return select(above, x, zero) - x * labels + log1p(exp(select(above, -x, x)));
}

Tensor cross_entropy(Tensor logits, Tensor labels) {
  const Tensor picked = reduce_sum(logits * one_hot(labels, logits.dim(-1), logits.dtype()), {-1});
  return log_sum_exp(logits) - picked;
}

}  // namespace smelt
