// A pretrained encoder of any family with a head that classifies whole texts or tokens. The family
// (model/models/encoder_family.h) defines the layers of a head and their parameter names.
//   B batch   S sequence   C classes
#pragma once

#include <string>
#include <string_view>

#include "model/models/encoder_family.h"

namespace smelt::model {

std::string_view encoder_name(const Encoder& encoder);  // "bert", "electra"
// Returns the sizes of the encoder, converted to BERT's fields.
BertConfig encoder_sizes(const Encoder& encoder);
// Returns the config as JSON with the fields of the family's config file, as stored in checkpoints.
Json encoder_config_json(const Encoder& encoder);
// Throws UsageError that begins with `where` if the family is unknown or the config is invalid.
Encoder parse_encoder(std::string_view name, const Json& config, const std::string& where);
Encoder bert_encoder(BertConfig config);

// Returns whether a parameter belongs to a classification head.
bool is_class_head(std::string_view parameter);
// Returns learning rate rules for layer-wise decay (model/optim/rules.h). The factor of a parameter
// is `decay` to the power of the number of layers above it: n + 1 - i for layer i of n, n + 2 for
// the embeddings, 1 for the pooler, 0 for the head. `pooled` is true if the head classifies whole
// texts; otherwise there is no rule for the pooler. See _get_layer_lrs in google-research/electra
// model/optimization.py.
std::string layer_rate_rules(const Encoder& encoder, double decay, bool pooled);
// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames classifier_dim_names(const Encoder& encoder, std::string_view parameter);

// Applies the encoder and a head that classifies whole texts, and returns logits f32 [B,C].
// `dropout` is applied to the input of the head. Throws UsageError if S exceeds the maximum
// sequence length.
compiler::Tensor class_logits(const Scope& root, const Encoder& encoder,
                              const EncoderInputs& inputs, std::int64_t classes, double dropout);
// Does the same with a head that classifies each token, and returns logits f32 [B,S,C].
compiler::Tensor token_logits(const Scope& root, const Encoder& encoder,
                              const EncoderInputs& inputs, std::int64_t classes, double dropout);
// Returns f32 [B,S,2]: the scores of each token as the start and the end of an answer.
compiler::Tensor answer_logits(const Scope& root, const Encoder& encoder,
                               const EncoderInputs& inputs);

}  // namespace smelt::model
