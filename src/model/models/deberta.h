// The layers of DeBERTa-v2 and v3 (He et al. 2021, 2023), shared by its encoder and by the two
// encoders of its pretraining.
//   B batch   S sequence   E embedding   H hidden   P masked positions
#pragma once

#include "model/models/deberta_config.h"
#include "model/nn/lm_head.h"

namespace smelt::model {

// Names of parameters in a model that is pretrained by replaced-token detection
// (model/tasks/deberta_rtd_task.h).
inline constexpr const char *kDebertaGenerator = "deberta_generator",
                            *kGeneratorWords = "deberta_generator/embeddings/word_embeddings",
                            *kWordsDelta = "deberta/embeddings/word_embeddings_delta";

// Returns the sizes as fields of BERT's config.
BertConfig deberta_sizes(const DebertaConfig& config);

// Applies the embeddings and the layers in the scope `s`: [B,S,H] in the scope's dtype. `words` are
// the word embeddings f32 [V,E]; if they are empty, declares them in `s`. Throws UsageError if S
// exceeds max_position_embeddings.
compiler::Tensor deberta_sequence(const Scope& s, const DebertaConfig& config,
                                  const EncoderInputs& inputs, compiler::Tensor words = {});

// Returns the masked-LM head in the scope `s` on the rows of `sequence` [B,S,H] at `positions`
// [B,P]. Its output weights are the word embeddings `words` [V,E].
LmHead deberta_word_head(const Scope& s, const DebertaConfig& config, compiler::Tensor sequence,
                         compiler::Tensor positions, compiler::Tensor words);

// Returns f32 [B,S]: positive where the head in the scope `s` considers a token replaced. The head
// is that of Microsoft's ReplacedTokenDetectionModel.
compiler::Tensor deberta_replaced_logits(const Scope& s, const DebertaConfig& config,
                                         compiler::Tensor sequence);

// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames deberta_dim_names(const DebertaConfig& config, std::string_view parameter);

}  // namespace smelt::model
