// Scaled dot-product attention over several heads (Vaswani et al. 2017, section 3.2).
#pragma once

#include "nn/scope.h"

namespace smelt {

struct AttentionInputs {
  Tensor q;        // [B,Q,N,D]: what asks
  Tensor k, v;     // [B,S,N,D]: what is asked
  Tensor bias;     // f32 [B,1,1,S] or [B,1,Q,S], added to the scores
  double dropout;  // of the probabilities, by the scope "dropout"
};

// softmax(q k / sqrt(D) + bias) v: [B,Q,N,D] of q's type.
//
// With `s.compute().attention_rows` R > 0 in a loop over blocks of R rows of q, so that scores are
// [B,N,R,S] at a time, and computed again in the backward pass rather than kept (Rabe & Staats
// 2021, over queries alone); random bits and, but for rounding, values are those of one block.
// UsageError when R does not divide Q.
Tensor attention(const Scope& s, const AttentionInputs& in);

}  // namespace smelt
