// The BERT variants of google-research/jestimator (models bert, rope and bert_rpe, modeling.py):
// post-LN encoders with different position encodings, and a masked-LM head. Queries, values, the
// second feed-forward layers and the head are initialized with zeros. Parameters have the original
// names joined by "/": "encoder/embedder_block/token_embed/embedding".
//   B batch   S sequence   H hidden   N heads   D = H/N   V vocabulary
#pragma once

#include <string_view>

#include "model/models/jestimator_bert_config.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt::model {

// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames jestimator_bert_dim_names(const JestimatorBertConfig& config, std::string_view parameter);

// Applies the encoder, whose parameters are in "encoder/…", to ids s32 [B,S] and returns [B,S,H] in
// the scope's dtype. All tokens have segment 0. `input_mask` s32 [B,S] is 0 for padding; empty: no
// padding. `at` s32 [B,S] contains the token positions, below max_length, for variants with
// position embeddings or rotary positions; empty: 0 … S-1 in each row. Throws UsageError if S
// exceeds max_length.
compiler::Tensor jestimator_bert(const Scope& root, const JestimatorBertConfig& config,
                                 compiler::Tensor token_ids, compiler::Tensor input_mask = {},
                                 compiler::Tensor at = {});

// Returns the masked-LM head, whose parameters are in "mlm_head/…", on rows [I,H] of the encoder.
LmHead jestimator_word_head(const Scope& root, const JestimatorBertConfig& config,
                            compiler::Tensor rows);

}  // namespace smelt::model
