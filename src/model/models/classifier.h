// A pre-trained encoder under a head that scores whole texts or each token. Of whole texts: BERT's
// as google-research/bert run_classifier.py has it, on the pooled first token; ELECTRA's as
// transformers' ElectraForSequenceClassification, on the first token itself. Of tokens both have
// one dense layer, as transformers' …ForTokenClassification, or, for answers, run_squad.py and
// …ForQuestionAnswering. Parameters of BERT's heads carry the original checkpoint's names.
//   B batch   S sequence   H hidden   C classes
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/json.h"
#include "model/models/bert_config.h"
#include "model/models/electra_config.h"
#include "model/models/encoder.h"

namespace smelt {

// Which encoder, and its sizes. Of an ELECTRA the discriminator.
using Encoder = std::variant<BertConfig, ElectraConfig>;

std::string_view encoder_name(const Encoder& encoder);  // "bert", "electra"
BertConfig encoder_sizes(const Encoder& encoder);
Json encoder_config_json(const Encoder& encoder);
// UsageError beginning with `where` for another name than those, or a config that does not fit.
Encoder parse_encoder(std::string_view name, const Json& config, const std::string& where);

// Whether parameters of such a name are a head's.
bool is_class_head(std::string_view parameter);
// Rules of rates (model/optim/rules.h) for a head of whole texts (`pooled`) or tokens: `decay` to
// the power of how many layers lie above a parameter; of layer i in n n + 1 - i, of embeddings n +
// 2, of a head 0 (google-research/electra model/optimization.py, _get_layer_lrs).
std::string layer_rate_rules(const Encoder& encoder, double decay, bool pooled);
// The names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames classifier_dim_names(const Encoder& encoder, std::string_view parameter);

// f32 [B,C]. `dropout`: of what the head is given. UsageError when S exceeds the positions.
Tensor class_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs,
                    std::int64_t classes, double dropout);
// f32 [B,S,C], likewise.
Tensor token_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs,
                    std::int64_t classes, double dropout);
// f32 [B,S,2]: that an answer begins there, and that it ends there.
Tensor answer_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& inputs);

}  // namespace smelt
