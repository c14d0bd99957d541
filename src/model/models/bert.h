// BERT (Devlin et al. 2019) as google-research/bert modeling.py and run_pretraining.py have it:
// post-LN encoder, pooler, masked-LM head on gathered positions with tied weights, next-sentence
// head. Parameters carry the original checkpoint's names.
//   B batch   S sequence   H hidden   P masked positions   V vocabulary
#pragma once

#include "model/models/encoder.h"

namespace smelt {

// The names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames bert_dim_names(const BertConfig& config, std::string_view parameter);

struct BertEncoded {
  Tensor sequence;  // [B,S,H] in the scope's type
  Tensor pooled;    // [B,H], likewise
};

// [B,S,H] in the scope's type, without the pooler. UsageError when S exceeds
// max_position_embeddings.
Tensor bert_sequence(const Scope& root, const BertConfig& config, const EncoderInputs& inputs);
// Likewise.
BertEncoded bert(const Scope& root, const BertConfig& config, const EncoderInputs& inputs);

// What scores all words by the B*P rows of `sequence` at `positions` [B,P].
LmHead masked_lm_head(const Scope& root, const BertConfig& config, Tensor sequence,
                      Tensor positions);
// f32 [B, 2]
Tensor next_sentence_logits(const Scope& root, const BertConfig& config, Tensor pooled);

}  // namespace smelt
