#include "model/models/classifier.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/bert.h"
#include "model/models/electra.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt {
namespace {

// Its variables stand beside the encoder's, below no scope of their own.
Tensor bert_class_logits(const Scope& root, const BertConfig& c, const EncoderInputs& in,
                         std::int64_t C, double rate) {
  const Tensor pooled = bert(root, c, in).pooled;
  const Tensor kernel = root.parameter("output_weights", {C, c.hidden_size}, encoder_weights(c));
  const Tensor kept = dropout(root / "classifier", in_f32(pooled), rate);
  return einsum("bh,ch->bc", kept, kernel) + root.parameter("output_bias", {C}, {});
}

Tensor electra_class_logits(const Scope& root, const ElectraConfig& c, const EncoderInputs& in,
                            std::int64_t C, double rate) {
  const BertConfig sizes = discriminator_config(c);
  const Scope s = root / "classifier";
  const Init weights = encoder_weights(sizes);
  const Tensor first = dropout(s / "input", electra(root, c, in).pooled, rate);
  const Tensor inner = dense(s / "dense", first, sizes.hidden_size, weights);
  const Tensor hidden = activation("gelu", inner, Gelu::erf);
  return dense(s / "out_proj", in_f32(dropout(s / "hidden", hidden, rate)), C, weights);
}

// output_weights and output_bias of `s`, on each token.
Tensor bert_token_head(const Scope& s, const Tensor& tokens, std::int64_t C, const Init& weights) {
  const Tensor kernel = s.parameter("output_weights", {C, tokens.dim(2)}, weights);
  return einsum("bsh,ch->bsc", tokens, kernel) + s.parameter("output_bias", {C}, {});
}

Tensor encoded_tokens(const Scope& root, const Encoder& encoder, const EncoderInputs& in) {
  if (const auto* c = std::get_if<ElectraConfig>(&encoder)) return electra(root, *c, in).sequence;
  return bert_sequence(root, std::get<BertConfig>(encoder), in);
}

}  // namespace

std::string_view encoder_name(const Encoder& encoder) {
  return std::holds_alternative<BertConfig>(encoder) ? "bert" : "electra";
}

BertConfig encoder_sizes(const Encoder& encoder) {
  if (const auto* electra = std::get_if<ElectraConfig>(&encoder))
    return discriminator_config(*electra);
  return std::get<BertConfig>(encoder);
}

Json encoder_config_json(const Encoder& encoder) {
  return std::visit([](const auto& config) { return config_json(config); }, encoder);
}

Encoder parse_encoder(std::string_view name, const Json& config, const std::string& where) {
  if (name == "bert") {
    const auto bert = parse_config<BertConfig>(config, where);
    check_bert_config(bert, where);
    return bert;
  }
  if (name != "electra")
    throw UsageError(str(where, ": no encoder of a BERT or an ELECTRA"),
                     "give a folder of a pre-trained BERT or ELECTRA");
  const auto electra = parse_config<ElectraConfig>(config, where);
  check_electra_config(electra, [&](const std::string&) { return where; });
  return electra;
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
  add(scope + "/embeddings", layers + 2);  // and what projects them
  for (std::int64_t i = 0; i < layers; ++i)
    add(str(scope, "/encoder/layer_", i, "/"), layers + 1 - i);
  if (scope == "bert" && pooled) add("bert/pooler/", 1);
  return rules;
}

DimNames classifier_dim_names(const Encoder& encoder, std::string_view parameter) {
  if (parameter == "output_weights" || parameter == "cls/squad/output_weights")
    return {"", "embed"};
  if (parameter == "classifier/dense/kernel" || parameter == "classifier/kernel" ||
      parameter == "qa_outputs/kernel")
    return {"embed", ""};
  if (const auto* electra = std::get_if<ElectraConfig>(&encoder))
    return electra_dim_names(*electra, parameter);
  return bert_dim_names(std::get<BertConfig>(encoder), parameter);
}

Tensor class_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in,
                    std::int64_t classes, double dropout_rate) {
  if (const auto* electra = std::get_if<ElectraConfig>(&encoder))
    return electra_class_logits(root, *electra, in, classes, dropout_rate);
  return bert_class_logits(root, std::get<BertConfig>(encoder), in, classes, dropout_rate);
}

Tensor token_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in,
                    std::int64_t C, double rate) {
  const Init weights = encoder_weights(encoder_sizes(encoder));
  const Scope s = root / "classifier";
  const Tensor kept = in_f32(dropout(s, encoded_tokens(root, encoder, in), rate));
  if (std::holds_alternative<ElectraConfig>(encoder)) return dense(s, kept, C, weights);
  return bert_token_head(root, kept, C, weights);
}

Tensor answer_logits(const Scope& root, const Encoder& encoder, const EncoderInputs& in) {
  const Init weights = encoder_weights(encoder_sizes(encoder));
  const Tensor tokens = in_f32(encoded_tokens(root, encoder, in));
  if (std::holds_alternative<ElectraConfig>(encoder))
    return dense(root / "qa_outputs", tokens, 2, weights);
  return bert_token_head(root / "cls" / "squad", tokens, 2, weights);
}

}  // namespace smelt
