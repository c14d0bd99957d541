#include "model/models/classifier.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "model/models/families.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::Tensor;

#define SMELT_DECLARE(name) EncoderFamily name##_encoder_family();
#define SMELT_NOTHING(name)
SMELT_MODEL_FAMILIES(SMELT_DECLARE, SMELT_NOTHING)
#undef SMELT_DECLARE

std::span<const EncoderFamily> encoder_families() {
#define SMELT_ENTRY(name) name##_encoder_family(),
  static const std::array kFamilies{SMELT_MODEL_FAMILIES(SMELT_ENTRY, SMELT_NOTHING)};
#undef SMELT_ENTRY
#undef SMELT_NOTHING
  return kFamilies;
}

LmHead EncoderModel::word_head(const Scope&, Tensor, Tensor) const {
  throw BugError(str("an encoder of ", family(), " has no masked-language-model head"));
}

std::string_view encoder_name(const Encoder& encoder) { return encoder->family(); }

BertConfig encoder_sizes(const Encoder& encoder) { return encoder->sizes(); }

Json encoder_config_json(const Encoder& encoder) { return encoder->config(); }

Encoder parse_encoder(std::string_view name, const Json& config, const std::string& where) {
  const auto found = std::ranges::find(encoder_families(), name, &EncoderFamily::name);
  if (found == encoder_families().end())
    throw UsageError(str(where, ": not an encoder model (BERT, ELECTRA, RoBERTa or ModernBERT)"),
                     "use the folder of a pre-trained BERT, ELECTRA, RoBERTa or ModernBERT");
  return found->parse(config, where);
}

bool is_class_head(std::string_view parameter) {
  return parameter == "output_weights" || parameter == "output_bias" ||
         parameter.starts_with("classifier/") || parameter.starts_with("cls/squad/") ||
         parameter.starts_with("qa_outputs/");
}

std::string layer_rate_rules(const Encoder& encoder, double decay, bool pooled) {
  const std::int64_t layers = encoder_sizes(encoder).num_hidden_layers;
  const std::string scope(encoder_name(encoder));
  std::string rules;
  const auto add = [&](const std::string& names, std::int64_t above) {
    rules += str(names, " = ", std::pow(decay, static_cast<double>(above)), "; ");
  };
  add(scope + "/embeddings", layers + 2);  // also matches "embeddings_project/"
  for (std::int64_t i = 0; i < layers; ++i)
    add(str(scope, "/encoder/layer_", i, "/"), layers + 1 - i);
  if (encoder->has_pooler() && pooled) add(scope + "/pooler/", 1);
  return rules;
}

DimNames classifier_dim_names(const Encoder& encoder, std::string_view parameter) {
  if (parameter == "output_weights" || parameter == "cls/squad/output_weights")
    return {"", "embed"};
  if (parameter == "classifier/dense/kernel" || parameter == "classifier/kernel" ||
      parameter == "qa_outputs/kernel")
    return {"embed", ""};
  return encoder->dim_names(parameter);
}

Tensor class_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in,
                    std::int64_t classes, double dropout_rate) {
  return encoder->class_logits(root, in, classes, dropout_rate);
}

Tensor token_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in,
                    std::int64_t C, double rate) {
  const Tensor tokens = dropout(root / "classifier", encoder->sequence(root, in), rate);
  return encoder->token_head(root, in_f32(tokens), C);
}

Tensor answer_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in) {
  return encoder->answer_head(root, in_f32(encoder->sequence(root, in)));
}

}  // namespace smelt::model
