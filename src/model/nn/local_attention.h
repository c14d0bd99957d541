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
// Queries are split into blocks of C. A block attends to the 4W keys that are in reach of its
// queries, so that 4W / S of the scores are computed. Short sequences, for which that is more than
// half, and attention with dropout use all keys and window_bias(). The values are the same up to
// rounding, except for queries whose keys in reach are all masked, such as padding.
compiler::Tensor local_attention(const Scope& s, const AttentionInputs& in, std::int64_t window);

}  // namespace smelt::model
