// BERT (Devlin et al. 2019), following modeling.py and run_pretraining.py of google-research/bert:
// a post-LN encoder, a pooler, a masked-LM head with tied weights on gathered positions, and a
// next-sentence head. Parameters have the names of the original checkpoints.
//   B batch   S sequence   H hidden   P masked positions   V vocabulary
#pragma once

#include "model/models/encoder.h"

namespace smelt::model {

// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames bert_dim_names(const BertConfig& config, std::string_view parameter);

// Outputs of the encoder.
struct BertEncoded {
  compiler::Tensor sequence;  // [B,S,H] in the scope's dtype
  compiler::Tensor pooled;    // [B,H] in the scope's dtype
};

// Applies the encoder without the pooler and returns its last layer, [B,S,H] in the scope's dtype.
// Throws UsageError if S exceeds max_position_embeddings.
compiler::Tensor bert_sequence(const Scope& root, const BertConfig& config,
                               const EncoderInputs& inputs);
// Applies the encoder and the pooler. Throws UsageError in the same case as bert_sequence().
BertEncoded bert(const Scope& root, const BertConfig& config, const EncoderInputs& inputs);

// Returns the masked-LM head on the B*P rows of `sequence` at `positions` [B,P].
LmHead masked_lm_head(const Scope& root, const BertConfig& config, compiler::Tensor sequence,
                      compiler::Tensor positions);
// Applies the next-sentence head to `pooled` [B,H] and returns its logits, f32 [B,2].
compiler::Tensor next_sentence_logits(const Scope& root, const BertConfig& config,
                                      compiler::Tensor pooled);

}  // namespace smelt::model
