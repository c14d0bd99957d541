// ModernBERT hyperparameters (Warner et al. 2024), with the names of Hugging Face's config.json.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "model/models/classifier.h"

namespace smelt::model {

// Fields and defaults of ModernBERT-base.
struct ModernbertConfig {
  std::int64_t vocab_size = 0;  // required
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 22;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 1152;
  std::string hidden_activation = "gelu";  // exact form, with erf
  std::int64_t max_position_embeddings = 8192;
  std::int64_t global_attn_every_n_layers = 3;
  std::int64_t local_attention = 128;
  double global_rope_theta = 160000;
  double local_rope_theta = 10000;
  double norm_eps = 1e-5;
  std::string classifier_pooling = "mean";  // or "cls"
  double embedding_dropout = 0;
  double attention_dropout = 0;
  double attention_output_dropout = 0.1;  // not a field of transformers' config
  double mlp_dropout = 0;
  double initializer_range = 0.02;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, ModernbertConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = tokens of the vocabulary");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("num_hidden_layers", c.num_hidden_layers, "encoder layers");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer");
  visit("intermediate_size", c.intermediate_size,
        "width of the feed-forward layer; its first matmul is twice as wide");
  visit("hidden_activation", c.hidden_activation, "gelu (exact), relu, tanh or linear");
  visit("max_position_embeddings", c.max_position_embeddings, "maximum sequence length in tokens");
  visit("global_attn_every_n_layers", c.global_attn_every_n_layers,
        "layers 0, n, 2n, ... attend to all tokens, the others to tokens nearby; 1: all layers "
        "attend "
        "to all tokens");
  visit("local_attention", c.local_attention,
        "width of the attention window in the other layers: a token attends to tokens at most half "
        "this width away");
  visit("global_rope_theta", c.global_rope_theta,
        "base of the rotary positions in layers that attend to all tokens");
  visit("local_rope_theta", c.local_rope_theta,
        "base of the rotary positions in layers with a window");
  visit("norm_eps", c.norm_eps, "epsilon of the layer norms");
  visit("classifier_pooling", c.classifier_pooling,
        "input of the head that classifies texts: mean (of all tokens) or cls (the first token)");
  visit("embedding_dropout", c.embedding_dropout, "dropout of the embeddings");
  visit("attention_dropout", c.attention_dropout, "dropout of attention weights");
  visit("attention_output_dropout", c.attention_output_dropout,
        "dropout of the output of attention");
  visit("mlp_dropout", c.mlp_dropout, "dropout in the feed-forward layer");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
}

// Returns whether layer i attends to all tokens.
inline bool is_global_layer(const ModernbertConfig& config, std::int64_t i) {
  return i % config.global_attn_every_n_layers == 0;
}

// Returns the encoder with this config. Throws UsageError that begins with `where` if a value is
// out of range or sizes contradict each other.
Encoder modernbert_encoder(ModernbertConfig config, const std::string& where);

}  // namespace smelt::model
