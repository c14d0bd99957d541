#include "nn/layers.h"

#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/philox.h"
#include "ops/ops.h"

namespace smelt {

Tensor mean(Tensor x, const Dims& axes) {
  double count = 1;
  for (const auto axis : axes) count *= static_cast<double>(x.dim(axis));
  return reduce_sum(x, axes, KeepDims::yes) * (1.0 / count);
}

Tensor square(Tensor x) { return x * x; }

Tensor softmax(Tensor x) {
  const Tensor e = exp(x - stop_gradient(reduce_max(x, {-1}, KeepDims::yes)));
  return e / reduce_sum(e, {-1}, KeepDims::yes);
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

Tensor activation(std::string_view name, Tensor x) {
  if (name == "linear") return x;
  if (name == "relu") return relu(x);
  if (name == "gelu") return gelu_tanh(x);
  if (name == "tanh") return tanh(x);
  throw UsageError(str("hidden_act: unknown activation '", name, "'"),
                   did_you_mean(name, activation_names()));
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> kNames{"linear", "relu", "gelu", "tanh"};
  return kNames;
}

Tensor dense(const Scope& s, Tensor x, std::int64_t out, Init kernel) {
  return dense_together(std::array{s}, x, out, kernel).front();
}

std::vector<Tensor> dense_together(std::span<const Scope> scopes, Tensor x, std::int64_t out,
                                   Init kernel) {
  const std::int64_t in = x.dim(-1), rows = x.shape().elements() / in;
  std::vector<Tensor> kernels, biases;
  for (const Scope& s : scopes) {
    kernels.push_back(s.parameter("kernel", {in, out}, kernel));
    biases.push_back(s.parameter("bias", {out}, {}));
  }
  const bool one = scopes.size() == 1;
  const Tensor product = matmul(reshape(x, {rows, in}), one ? kernels[0] : concatenate(kernels, 1));
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < scopes.size(); ++i) {
    const std::int64_t begin = static_cast<std::int64_t>(i) * out;
    const Tensor part = one ? product : slice_axis(product, 1, begin, begin + out);
    Dims dims = x.dims();
    dims.back() = out;
    results.push_back(reshape(part + biases[i], dims));
  }
  return results;
}

Tensor layer_norm(const Scope& s, Tensor x, double epsilon) {
  const std::int64_t width = x.dim(-1);
  const Tensor beta = s.parameter("beta", {width}, {});
  const Tensor gamma = s.parameter("gamma", {width}, {.value = 1});
  const Tensor centred = x - mean(x, {-1});
  // Divided, not multiplied by a reciprocal: XLA's CPU fusion copies chains of cheap operations
  // into each of their users, here the residuals of all layers; it does not copy a division
  // (docs/performance.md).
  return centred / sqrt(mean(square(centred), {-1}) + epsilon) * gamma + beta;
}

// {key, counter}: u64[3]. The counter's high half is the step, and the replica where each draws
// bits of its own.
static Tensor random_state(const DropoutSource& source, Graph& graph, std::string_view place) {
  const std::uint64_t key = random_key(source.seed, place);
  const auto word = [&](std::uint64_t bits) {  // 32 bits: a double holds them exactly
    return constant(graph, static_cast<double>(bits & 0xFFFFFFFF), DType::u64, {1});
  };
  const auto high = [&](Tensor bits) { return shift_left(bits, full_like(bits, 32)); };
  const auto counter = [](Tensor t) { return reshape(convert(t, DType::u64), {1}); };
  Tensor step = counter(source.step);
  if (source.replica && source.parts == 1) step = bitwise_or(step, high(counter(source.replica)));
  return concatenate({bitwise_or(word(key), high(word(key >> 32))), word(0), step}, 0);
}

// Random numbers below 2^16, u32[count]: four from each word of the generator. On the CPU plugin
// 64-bit words cost a seventh of 32-bit ones, whose interleaving is scalar code
// (docs/performance.md).
static Tensor random_16_bits(Tensor state, std::int64_t count) {
  const std::int64_t words = (count + 3) / 4;
  const Tensor bits = rng_bit_generator(state, {DType::u64, {words}})[1];
  std::vector<Tensor> parts;
  for (int i = 0; i < 4; ++i) {
    const Tensor part = shift_right_logical(bits, full_like(bits, 16 * i));
    parts.push_back(convert(bitwise_and(part, full_like(part, 0xFFFF)), DType::u32));
  }
  return slice_axis(concatenate(parts, 0), 0, 0, count);
}

Tensor dropout(const Scope& s, Tensor x, double rate) {
  const auto& source = s.dropout_source();
  if (!source || rate == 0) return x;
  const Tensor state = random_state(*source, s.graph(), s.path());
  const std::int64_t count = x.shape().elements();
  Tensor numbers = random_16_bits(state, count * source->parts);
  if (source->parts > 1) {
    const Tensor begin = source->replica * full_like(source->replica, static_cast<double>(count));
    numbers = dynamic_slice(numbers, {begin}, {count});
  }
  const Tensor bits = reshape(numbers, x.dims());
  const double threshold = std::round(rate * 65536.0);
  const Tensor keep = compare(bits, full_like(bits, threshold), Compare::ge);
  return select(keep, x * (65536.0 / (65536.0 - threshold)), zeros_like(x));
}

Tensor cross_entropy(Tensor logits, Tensor labels) {
  const Tensor picked = reduce_sum(logits * one_hot(labels, logits.dim(-1), logits.dtype()), {-1});
  return log_sum_exp(logits) - picked;
}

}  // namespace smelt
