// Scaled dot-product attention over several heads (Vaswani et al. 2017, section 3.2), and how
// positions come into it.
//   B batch   Q queries   S keys   N heads   D = width of a head   R queries at a time
#pragma once

#include <vector>

#include "model/nn/scope.h"

namespace smelt {

struct AttentionInputs {
  Tensor q;     // [B,Q,N,D]: what asks
  Tensor k, v;  // [B,S,N,D]: what is asked
  // Added to the scores, each f32 of rank 4 with B or 1, N or 1, Q or 1, and S: masks, and what a
  // model learns of positions, which need not be added up to all of [B,N,Q,S] before.
  std::vector<Tensor> biases = {};
  double dropout = 0;  // of the probabilities, by the scope "dropout"
  bool scaled = true;  // scores are over sqrt(D)
  // Of q's type, [Q+S-1,N,D], or empty: the row s - q + Q-1 is added to key s and to value s where
  // query q is what asks (Shaw et al. 2018).
  Tensor relative_k = {}, relative_v = {};
};

// softmax(q k / sqrt(D) + biases) v, or without sqrt(D) where `scaled` is false: [B,Q,N,D] of q's
// type; scores and softmax are f32. With `softmax_by_context` and products that are not exact it
// has the bits that a product takes of it, which is what it goes into.
//
// Where Q is more than `s.compute().attention_rows`, and that is not 0, in a loop over blocks of at
// most so many queries, R of them, so that scores are [B,N,R,S] at a time, and computed again in
// the backward pass rather than kept (Rabe & Staats 2021, over queries alone); random bits and, but
// for rounding, values are those of one block. Without `stored_scores` all queries are one such
// block.
Tensor attention(const Scope& s, const AttentionInputs& in);

// What a model has learned of distances [N,Q+S-1], of which the row's s - q + Q-1 is that of query
// q and key s, as a bias [1,N,Q,S].
Tensor bias_of_distances(Tensor by_distance, std::int64_t Q);

// Rotary positions (Su et al. 2021), pairs of a half and the other half of a head, as flaxformer
// has them: f32 [...,1,D] of positions f32 [...], which are [S] or [B,S]. UsageError when D is odd.
struct Rotary {
  Tensor cos, sin;
};
Rotary rotary(Tensor positions, std::int64_t D, double base = 10000);
Tensor rotated(Tensor x, const Rotary& by);  // x [B,S,N,D]

}  // namespace smelt
