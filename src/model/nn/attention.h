// Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2) and position
// encodings.
//   B batch   Q queries   S keys   N heads   D head width   R queries per block
#pragma once

#include <vector>

#include "model/nn/scope.h"

namespace smelt::model {

constexpr double kMaskedScore = -10000.0;  // added to the scores of masked keys

// Inputs of attention().
struct AttentionInputs {
  compiler::Tensor q;     // [B,Q,N,D]: queries
  compiler::Tensor k, v;  // [B,S,N,D]: keys and values
  // Masks and learned position biases, which are added to the scores. Each is f32 [B or 1, N or 1,
  // Q or 1, S] and is broadcast separately.
  std::vector<compiler::Tensor> biases = {};
  // For packed rows: s32 [B,Q] and [B,S], the sequence of each token, or both empty. A query
  // attends only to keys of its sequence: kMaskedScore is added to the other scores. The comparison
  // is part of computing the scores, so no mask [B,Q,S] is stored.
  compiler::Tensor query_sequences = {}, key_sequences = {};
  double dropout = 0;  // dropout rate of the probabilities; random bits from the scope "dropout"
  bool scaled = true;  // whether scores are divided by sqrt(products * D)
  // The number of products of two vectors that a score sums (He et al. 2021, section 3.1).
  std::int64_t products = 1;
  // Relative position embeddings (Shaw et al. 2018), [Q+S-1,N,D] in the type of q, or empty. Row s
  // - q + Q-1 is added to key s and value s for query q.
  compiler::Tensor relative_k = {}, relative_v = {};
  // Relative position embeddings of the queries (He et al. 2021), [Q+S-1,N,D] in the type of q, or
  // empty. The product of key s and row s - q + Q-1 is added to the score of query q and key s.
  // Each of relative_k and relative_q costs a matmul about twice as large as that of q and k, and
  // no gather.
  compiler::Tensor relative_q = {};
};

// Returns softmax(q k / sqrt(D) + biases) v, [B,Q,N,D] in the type of q; without the division if
// `scaled` is false. Scores and softmax are f32. The other settings are those of ComputePolicy
// (model/nn/scope.h), from s.compute(). With softmax_by_context and without exact_products, the
// exponentials of the softmax are rounded to bf16, like matmul operands on a TPU.
//
// If attention_rows is above 0 and below Q, queries are processed in a loop over blocks of R rows.
// Scores are then [B,N,R,S] and are recomputed in the backward pass instead of stored (Rabe &
// Staats 2021, over queries only). Random bits do not depend on the blocks, and values agree up to
// rounding. If stored_scores is false, scores are recomputed even if all queries form a single
// block.
compiler::Tensor attention(const Scope& s, const AttentionInputs& in);

// Converts a learned bias by distance [N,Q+S-1] to a bias [1,N,Q,S]. Entry s - q + Q-1 applies to
// query q and key s.
compiler::Tensor bias_of_distances(compiler::Tensor by_distance, std::int64_t Q);

// Rotary position embeddings (Su et al. 2021). Dimension i is paired with dimension i + D/2, as in
// flaxformer. `positions` f32 is [S] or [B,S]; cos and sin are f32 [...,1,D]. Throws UsageError if
// D is odd.
struct Rotary {
  compiler::Tensor cos, sin;
};
Rotary rotary(compiler::Tensor positions, std::int64_t D, double base = 10000);
compiler::Tensor rotated(compiler::Tensor x, const Rotary& by);  // x [B,S,N,D]

}  // namespace smelt::model
