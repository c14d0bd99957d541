#include "nn/attention.h"

#include <cmath>

#include "base/error.h"
#include "nn/einsum.h"
#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {
namespace {

// The rows of q that `part` says, of all that there are.
Tensor context_of(const Scope& s, const AttentionInputs& in, const std::optional<Part>& part) {
  const auto B = in.q.dim(0), R = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), S = in.k.dim(1);
  const Tensor products = in_f32(einsum("bqnd,bknd->bnqk", in.q, in.k));
  const Tensor weights = softmax(products * (1.0 / std::sqrt(D)) + in.bias);
  const Tensor probs = convert(dropout(s / "dropout", weights, in.dropout, part), in.q.dtype());
  return einsum("bnqk,bknd->bqnd", probs.expect({B, N, R, S}), in.v);
}

// [B,1,Q,S] -> [Q / R,B,1,R,S]
Tensor bias_of_blocks(Tensor bias, std::int64_t R) {
  const auto B = bias.dim(0), Q = bias.dim(2), S = bias.dim(3);
  return transpose(reshape(bias, {B, 1, Q / R, R, S}), {2, 0, 1, 3, 4});
}

Tensor in_blocks(const Scope& s, const AttentionInputs& in, std::int64_t R) {
  const auto B = in.q.dim(0), Q = in.q.dim(1), N = in.q.dim(2), D = in.q.dim(3), blocks = Q / R;
  const bool own_bias = in.bias.dim(2) > 1;
  const Tensor bias = own_bias ? bias_of_blocks(in.bias, R) : in.bias;
  const Tensor q = transpose(reshape(in.q, {B, blocks, R, N, D}), {1, 0, 2, 3, 4});
  // Their gradients are sums over blocks, in f32. Each block's has q's type: XLA's CPU has no
  // product of batches of bf16 in f32.
  const Tensor k = in_f32(in.k), v = in_f32(in.v);
  const ScanStep done = scan(
      s.graph(), blocks, {}, Save::layer, [&](ScanBody& body, std::span<const Tensor>) -> ScanStep {
        const Scope inner = s.within(body.graph(), s.random_source());
        const Tensor first =
            body.index() * constant(body.graph(), static_cast<double>(R), DType::s32);
        const AttentionInputs block{.q = body.slice(q),
                                    .k = convert(body.graph().capture(k), q.dtype()),
                                    .v = convert(body.graph().capture(v), q.dtype()),
                                    .bias = own_bias ? body.slice(bias) : bias,
                                    .dropout = in.dropout};
        return {.carry = {},
                .outputs = {context_of(inner, block, Part{.axis = 2, .first = first, .whole = Q})}};
      });
  return reshape(transpose(done.outputs[0], {1, 0, 2, 3, 4}), in.q.dims());
}

}  // namespace

Tensor attention(const Scope& s, const AttentionInputs& in) {
  const std::int64_t Q = in.q.dim(1), R = s.compute().attention_rows;
  if (R == 0 || R == Q) return context_of(s, in, {});
  if (Q % R != 0)
    throw UsageError(str("attention: ", Q, " tokens in blocks of ", R),
                     "choose attention rows that divide the sequence, or 0");
  return in_blocks(s, in, R);
}

}  // namespace smelt
