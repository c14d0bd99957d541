// DeBERTa hyperparameters (He et al. 2021, 2023), with the names of Hugging Face's config.json of
// model_type deberta-v2, which DeBERTa-v3 models have, too.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "model/models/classifier.h"

namespace smelt::model {

// Fields and defaults of deberta-v3-base.
struct DebertaConfig {
  std::int64_t vocab_size = 0;  // required
  std::int64_t hidden_size = 768;
  std::int64_t embedding_size = 0;  // 0: hidden_size
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";  // exact form, with erf
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  bool position_biased_input = false;
  std::int64_t position_buckets = 256;       // below 1: one row per distance
  std::int64_t max_relative_positions = -1;  // below 1: max_position_embeddings
  std::string pos_att_type = "p2c|c2p";
  bool share_att_key = true;
  std::string norm_rel_ebd = "layer_norm";  // or "none"
  double layer_norm_eps = 1e-7;
  double pooler_dropout = 0;
  std::string pooler_hidden_act = "gelu";
  double initializer_range = 0.02;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, DebertaConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = tokens of the vocabulary");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("embedding_size", c.embedding_size, "width of the embeddings; 0: hidden_size");
  visit("num_hidden_layers", c.num_hidden_layers, "encoder layers");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer");
  visit("intermediate_size", c.intermediate_size, "width of the feed-forward layer");
  visit("hidden_act", c.hidden_act, "gelu (exact), relu, tanh or linear");
  visit("hidden_dropout_prob", c.hidden_dropout_prob, "dropout of hidden states");
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("max_position_embeddings", c.max_position_embeddings, "maximum sequence length in tokens");
  visit("position_biased_input", c.position_biased_input,
        "add embeddings of absolute positions to the input");
  visit("position_buckets", c.position_buckets,
        "buckets of relative positions in each direction: half of them are single distances, the "
        "others are ranges that grow exponentially; below 1: one for each distance");
  visit("max_relative_positions", c.max_relative_positions,
        "largest distance between tokens that relative positions tell apart; below 1: "
        "max_position_embeddings");
  visit("pos_att_type", c.pos_att_type,
        "products with relative positions that are added to the scores: p2c|c2p, p2c or c2p");
  visit("share_att_key", c.share_att_key,
        "relative positions use the query and key matrices of the tokens");
  visit("norm_rel_ebd", c.norm_rel_ebd, "layer_norm of the relative embeddings, or none");
  visit("layer_norm_eps", c.layer_norm_eps, "epsilon of the layer norms");
  visit("pooler_dropout", c.pooler_dropout,
        "dropout before the first layer of the head that classifies texts");
  visit("pooler_hidden_act", c.pooler_hidden_act,
        "activation in the head that classifies texts: gelu (exact), relu, tanh or linear");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
}

// Return whether scores include the products of queries and relative positions of keys (c2p), and
// of keys and relative positions of queries (p2c).
bool has_content_to_position(const DebertaConfig& config);
bool has_position_to_content(const DebertaConfig& config);

// Returns the largest distance between tokens that relative positions distinguish.
std::int64_t largest_distance(const DebertaConfig& config);
// Returns half the number of rows of the relative embeddings.
std::int64_t relative_span(const DebertaConfig& config);
// Returns the row of the relative embeddings for a query at position `distance` behind its key
// (negative: before it). See section A.5 of He et al. 2021 and make_log_bucket_position() of
// transformers.
std::int64_t relative_row(const DebertaConfig& config, std::int64_t distance);

std::int64_t deberta_embedding_size(const DebertaConfig& config);

// Throws UsageError that begins with `where` if a value is out of range or sizes contradict each
// other.
Encoder deberta_encoder(DebertaConfig config, const std::string& where);

}  // namespace smelt::model
