#include "nn/attention.h"

#include <cmath>

#include "base/error.h"
#include "nn/einsum.h"
#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {
namespace {

// By distance [B,N,R,S+R-1] -> by key [B,N,R,S]: row q moved to the left by R-1-q.
Tensor by_key(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3);
  if (R == 1) return x;
  const Tensor flat = slice_axis(reshape(x, {B, N, R * W}), 2, R - 1, R * W - 1);
  return slice_axis(reshape(flat, {B, N, R, W - 1}), 3, 0, W - R + 1);
}

// The other way round, with zeros where there is no key.
Tensor by_distance(Tensor x) {
  const auto B = x.dim(0), N = x.dim(1), R = x.dim(2), W = x.dim(3) + R - 1;
  if (R == 1) return x;
  const Tensor wide = pad(x, 0, {0, 0, 0, 0}, {0, 0, 0, R - 2});
  const Tensor flat = reshape(wide, {B, N, R * (W - 1)});
  return reshape(pad(flat, 0, {0, 0, R - 1}, {0, 0, 1}), {B, N, R, W});
}

struct Values {
  Tensor v, relative;
  // By weights [B,N,R,S], in their type.
  Tensor weighted(Tensor weights) const {
    const auto as = [&](Tensor t) { return convert(t, weights.dtype()); };
    const Tensor sum = einsum("bnqk,bknd->bqnd", weights, as(v));
    return relative ? sum + einsum("bnqr,rnd->bqnd", by_distance(weights), as(relative)) : sum;
  }
};

// The gradient of the sums is taken from the context, over a head's numbers for each query, where
// their own is over all keys; nothing of a key waits for the others (Dao et al. 2022, section 3.1).
// A query's scores have a gradient that sums to zero only if what is multiplied here has the bits
// that products take of it: or the difference would come out times what all keys have in common.
Tensor by_context(const Scope& s, Tensor scores, const Values& values, double rate,
                  const std::optional<Part>& part) {
  const auto [powers, sums] = softmax_powers(scores);
  const Tensor weights =
      stop_gradient(as_multiplied(dropout(s / "dropout", powers * (1.0 / sums), rate, part)));
  const Tensor context = values.weighted(straight_through(weights, weights * scores));
  const Tensor logs = transpose(log(sums), {0, 2, 1, 3});
  return as_multiplied(straight_through(context, context - stop_gradient(context) * logs));
}

// The rows of q that `part` says, of all that there are.
Tensor context_of(const Scope& s, const AttentionInputs& in, const std::optional<Part>& part) {
  const auto B = in.q.dim(0), R = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  Tensor scores = einsum("bqnd,bknd->bnqk", in.q, in.k);
  if (in.relative_k) scores = scores + by_key(einsum("bqnd,rnd->bnqr", in.q, in.relative_k));
  scores = scores * (1.0 / std::sqrt(D));
  // Captured before it is broadcast to a head's scores, which would be made outside.
  if (in.bias) scores = scores + convert(s.graph().capture(in.bias), scores.dtype());
  scores = in_f32(scores).expect({B, N, R, S});
  const Values values{.v = in.v, .relative = in.relative_v};
  if (s.compute().softmax_by_context)
    return convert(by_context(s, scores, values, in.dropout, part), in.q.dtype());
  const Tensor weights = convert(softmax(scores), in.q.dtype());
  return values.weighted(dropout(s / "dropout", weights, in.dropout, part));
}

// [B,1,Q,S] -> [Q / R,B,1,R,S]
Tensor bias_of_blocks(Tensor bias, std::int64_t R) {
  const auto B = bias.dim(0), Q = bias.dim(2), S = bias.dim(3);
  return transpose(reshape(bias, {B, 1, Q / R, R, S}), {2, 0, 1, 3, 4});
}

// Of relative positions of all queries those of R from `first` on.
Tensor seen_from(Tensor relative, Tensor first, const AttentionInputs& in, std::int64_t R) {
  const auto Q = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const Tensor zero = zeros_like(first),
               start = full_like(first, static_cast<double>(Q - R)) - first;
  return convert(dynamic_slice(relative, {start, zero, zero}, {R + S - 1, N, D}), in.q.dtype());
}

Tensor in_blocks(const Scope& s, const AttentionInputs& in, std::int64_t R) {
  const auto B = in.q.dim(0), Q = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), blocks = Q / R;
  const bool own_bias = in.bias && in.bias.dim(2) > 1;
  const Tensor bias = own_bias ? bias_of_blocks(in.bias, R) : in.bias;
  const Tensor q = transpose(reshape(in.q, {B, blocks, R, N, D}), {1, 0, 2, 3, 4});
  // Their gradients are sums over blocks, in f32. Each block's has q's type: XLA's CPU has no
  // product of batches of bf16 in f32.
  const auto summed = [&](Tensor t) { return t && blocks > 1 ? in_f32(t) : t; };
  const Tensor k = summed(in.k), v = summed(in.v);
  const Tensor relative_k = summed(in.relative_k), relative_v = summed(in.relative_v);
  const Save save = blocks > 1 ? Save::layer : Save::products;
  const ScanStep done = scan(
      s.graph(), blocks, {}, s.compute().save == Save::none ? Save::none : save,
      [&](ScanBody& body, std::span<const Tensor>) -> ScanStep {
        const Scope inner = s.within(body.graph(), s.random_source());
        const Tensor first =
            body.index() * constant(body.graph(), static_cast<double>(R), DType::s32);
        AttentionInputs block{.q = body.slice(q),
                              .k = convert(body.graph().capture(k), q.dtype()),
                              .v = convert(body.graph().capture(v), q.dtype()),
                              .bias = own_bias ? body.slice(bias) : bias,
                              .dropout = in.dropout};
        if (in.relative_k) {
          block.relative_k = seen_from(body.graph().capture(relative_k), first, in, R);
          block.relative_v = seen_from(body.graph().capture(relative_v), first, in, R);
        }
        return {.carry = {},
                .outputs = {context_of(inner, block, Part{.axis = 2, .first = first, .whole = Q})}};
      });
  return reshape(transpose(done.outputs[0], {1, 0, 2, 3, 4}), in.q.dims());
}

}  // namespace

Tensor attention(const Scope& s, const AttentionInputs& in) {
  const std::int64_t Q = in.q.dim(1), R = s.compute().attention_rows;
  if (R == 0 || R == Q)
    return s.compute().stored_scores ? context_of(s, in, {}) : in_blocks(s, in, Q);
  if (Q % R != 0)
    throw UsageError(str("attention: ", Q, " tokens in blocks of ", R),
                     "choose attention rows that divide the sequence, or 0");
  return in_blocks(s, in, R);
}

Rotary rotary(Graph& graph, std::int64_t S, std::int64_t D) {
  if (D % 2 != 0)
    throw UsageError(str("rotary positions: a head of ", D, " numbers has no halves"),
                     "choose heads of even size");
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < D; ++i)
    frequencies.push_back(
        std::pow(10000.0, -static_cast<double>(2 * (i % (D / 2))) / static_cast<double>(D)));
  const Tensor turns = iota(graph, {DType::f32, {S, 1, D}}, 0) *
                       constant(graph, frequencies, {DType::f32, {1, 1, D}});
  return {.cos = cos(turns), .sin = sin(turns)};
}

Tensor rotated(Tensor x, const Rotary& by) {
  const std::int64_t D = x.dim(3);
  const Tensor wide = in_f32(x);
  const Tensor turned =
      concatenate({-slice_axis(wide, 3, D / 2, D), slice_axis(wide, 3, 0, D / 2)}, 3);
  return convert(wide * by.cos + turned * by.sin, x.dtype());
}

}  // namespace smelt
