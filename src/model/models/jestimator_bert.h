// The BERTs of google-research/jestimator (model/models/bert, rope and bert_rpe, modeling.py):
// post-LN encoders that differ in what they know of positions, and the head of a masked LM over all
// of them. Queries, values, the second feed-forward layers and the head begin as zeros. Parameters
// carry the original's names, joined by "/": "encoder/embedder_block/token_embed/embedding".
//   B batch   S sequence   H hidden   N heads   D = H/N   V vocabulary
#pragma once

#include <string_view>

#include "model/models/jestimator_bert_config.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt {

// The names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames jestimator_bert_dim_names(const JestimatorBertConfig& config, std::string_view parameter);

// "encoder/…": [B,S,H] in the scope's type from ids s32 [B,S] of the first segment. `input_mask`
// s32 [B,S] is 0 where there is no token; empty: there are tokens everywhere. `at` s32 [B,S], below
// max_length, are their positions where these are learned or turned by; empty: 0 … S-1 in each row.
// UsageError when S exceeds max_length.
Tensor jestimator_bert(const Scope& root, const JestimatorBertConfig& config, Tensor token_ids,
                       Tensor input_mask = {}, Tensor at = {});

// "mlm_head/…": what scores all words by rows [I,H] of the encoder.
LmHead jestimator_word_head(const Scope& root, const JestimatorBertConfig& config, Tensor rows);

}  // namespace smelt
