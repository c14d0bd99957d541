// A pretrained encoder of any family under a head that scores whole texts or each token. The family
// (model/models/encoder_family.h) says which layers a head has and what its parameters are called.
//   B batch   S sequence   C classes
#pragma once

#include <string>
#include <string_view>

#include "model/models/encoder_family.h"

namespace smelt {

std::string_view encoder_name(const Encoder& encoder);  // "bert", "electra"
BertConfig encoder_sizes(const Encoder& encoder);
Json encoder_config_json(const Encoder& encoder);
// Throws UsageError that begins with `where` for the name of no family, or for a config with wrong
// values.
Encoder parse_encoder(std::string_view name, const Json& config, const std::string& where);
Encoder bert_encoder(BertConfig config);

// Whether a parameter of this name belongs to a classification head.
bool is_class_head(std::string_view parameter);
// Returns rules of learning rates (model/optim/rules.h) for an encoder under a head of whole texts
// (`pooled`) or tokens: each parameter has `decay` to the power of the number of layers above it,
// which is n + 1 - i for layer i of n, n + 2 for the embeddings and 0 for the head
// (google-research/electra model/optimization.py, _get_layer_lrs).
std::string layer_rate_rules(const Encoder& encoder, double decay, bool pooled);
// Returns the names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames classifier_dim_names(const Encoder& encoder, std::string_view parameter);

// Returns f32 [B,C]. `dropout` applies to the input of the head. Throws UsageError if S is longer
// than the model's positions.
Tensor class_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs,
                    std::int64_t classes, double dropout);
// Returns f32 [B,S,C].
Tensor token_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs,
                    std::int64_t classes, double dropout);
// Returns f32 [B,S,2]: the scores of each token as the first and as the last token of an answer.
Tensor answer_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs);

}  // namespace smelt
