// Scaled dot-product attention over several heads (Vaswani et al. 2017, section 3.2), and how
// positions come into it.
#pragma once

#include "nn/scope.h"

namespace smelt {

struct AttentionInputs {
  Tensor q;        // [B,Q,N,D]: what asks
  Tensor k, v;     // [B,S,N,D]: what is asked
  Tensor bias;     // f32 [B,1,1,S] or [B,1,Q,S], added to the scores; empty: none
  double dropout;  // of the probabilities, by the scope "dropout"
  // Of q's type, [Q+S-1,N,D], or empty: the row s - q + Q-1 is added to key s and to value s where
  // query q is what asks (Shaw et al. 2018).
  Tensor relative_k = {}, relative_v = {};
};

// softmax(q k / sqrt(D) + bias) v: [B,Q,N,D] of q's type. With `softmax_by_context` and products
// that are not exact it has the bits that a product takes of it, which is what it goes into.
//
// With `s.compute().attention_rows` R > 0 in a loop over blocks of R rows of q, so that scores are
// [B,N,R,S] at a time, and computed again in the backward pass rather than kept (Rabe & Staats
// 2021, over queries alone); random bits and, but for rounding, values are those of one block.
// Without `stored_scores` all rows are one such block.
// UsageError when R does not divide Q.
Tensor attention(const Scope& s, const AttentionInputs& in);

// Rotary positions (Su et al. 2021), pairs of a half and the other half of a head, as flaxformer
// has them: f32 [S,1,D] for S positions from 0 on. UsageError when D is odd.
struct Rotary {
  Tensor cos, sin;
};
Rotary rotary(Graph& graph, std::int64_t S, std::int64_t D);
Tensor rotated(Tensor x, const Rotary& by);  // x [B,S,N,D]

}  // namespace smelt
