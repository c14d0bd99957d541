// RoBERTa hyperparameters (Liu et al. 2019), with the names of Hugging Face's config.json.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "model/models/classifier.h"

namespace smelt::model {

// Fields and defaults of roberta-base. XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et
// al. 2020) have the same fields.
struct RobertaConfig {
  std::string model_type = "roberta";  // or "xlm-roberta", "camembert"
  std::int64_t vocab_size = 0;         // required
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t attention_head_size = 0;  // set for models with pruned heads only
  std::int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";  // exact form, with erf
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 514;
  std::int64_t type_vocab_size = 1;
  double layer_norm_eps = 1e-5;
  std::int64_t pad_token_id = 1;
  double initializer_range = 0.02;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, RobertaConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("model_type", c.model_type,
        "roberta, xlm-roberta or camembert, which differ in their tokenizers");
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = tokens of the vocabulary");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("num_hidden_layers", c.num_hidden_layers, "encoder layers");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer");
  if (!std::is_const_v<Config> || c.attention_head_size != 0)
    visit("attention_head_size", c.attention_head_size, "width of a head in a pruned model");
  visit("intermediate_size", c.intermediate_size, "width of the feed-forward layer");
  visit("hidden_act", c.hidden_act, "gelu (exact), relu, tanh or linear");
  visit("hidden_dropout_prob", c.hidden_dropout_prob, "dropout of hidden states");
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("max_position_embeddings", c.max_position_embeddings,
        "rows of the position table: the longest sequence + pad_token_id + 1");
  visit("type_vocab_size", c.type_vocab_size, "rows of the segment table; the first is used");
  visit("layer_norm_eps", c.layer_norm_eps, "epsilon of the layer norms");
  visit("pad_token_id", c.pad_token_id,
        "id of the padding token; positions start at the next number");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
}

// Returns the encoder with this config. Throws UsageError that begins with `where` if sizes
// contradict each other.
Encoder roberta_encoder(RobertaConfig config, const std::string& where);

}  // namespace smelt::model
