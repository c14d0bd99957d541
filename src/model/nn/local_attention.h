// Attention within a window around each token, as in Longformer (Beltagy et al. 2020) and
// ModernBERT.
//   B batch   S tokens   N heads   D head width   W window   C = 2W queries per block
#pragma once

#include "model/nn/attention.h"

namespace smelt::model {

// Returns f32 [1,1,Q,K] to be added to scores: 0 if key k is at most `window` positions from query
// q + first, kMaskedScore elsewhere.
compiler::Tensor window_bias(compiler::Graph& graph, std::int64_t Q, std::int64_t K,
                             std::int64_t first, std::int64_t window);

// Like attention() of a sequence with itself, but each query attends only to keys at most `window`
// positions away. The biases must have the shape [B or 1,1,1,S]; relative positions are not
// supported.
//
// Queries are split into blocks of C. Each block computes scores only for the 4W keys that its
// queries can reach, which is 4W / S of all scores. If that is more than half (short sequences), or
// if there is dropout, computes the scores for all keys and adds window_bias(). Both ways give the
// same values up to rounding, except for queries that reach only masked keys, such as padding.
compiler::Tensor local_attention(const Scope& s, const AttentionInputs& in, std::int64_t window);

}  // namespace smelt::model
