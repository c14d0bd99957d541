// BERT's hyper-parameters, in the original's file format (bert_config.json).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "base/json.h"
#include "model/nn/layers.h"

namespace smelt {

// Fields and defaults of google-research/bert modeling.py, BertConfig.
struct BertConfig {
  std::int64_t vocab_size = 0;  // required
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t attention_head_size = 0;  // not the original's: head_width() of models that were cut
  std::int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";  // the tanh approximation
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 16;
  double initializer_range = 0.02;
  // What a family fixes; not in the file.
  Gelu gelu = Gelu::tanh;            // ELECTRA's and RoBERTa's encoders have erf
  double layer_norm_eps = 1e-12;     // kLayerNormEpsilon
  std::int64_t position_offset = 0;  // rows of the position table before the first token's
  bool reads_segments = true;        // false: every token is of the first kind
};

// The fields' names in bert_config.json, values and help (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, BertConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = lines of the vocabulary");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("num_hidden_layers", c.num_hidden_layers, "encoder layers");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer");
  if (!std::is_const_v<Config> || c.attention_head_size != 0)  // else as the original writes it
    visit("attention_head_size", c.attention_head_size, "width of a head of a model that was cut");
  visit("intermediate_size", c.intermediate_size, "width of the feed-forward layer");
  visit("hidden_act", c.hidden_act, "gelu (tanh approximation), relu, tanh or linear");
  visit("hidden_dropout_prob", c.hidden_dropout_prob, "dropout of hidden states");
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("max_position_embeddings", c.max_position_embeddings, "longest sequence, tokens");
  visit("type_vocab_size", c.type_vocab_size, "kinds of segments");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
}

// The width of a head, and of all heads of a layer.
std::int64_t head_width(const BertConfig& config);
std::int64_t attention_width(const BertConfig& config);

// UsageError naming `where` for a missing vocab_size, a value of the wrong type, sizes that do not
// fit each other, or a field that looks like a misspelt one. Other unknown fields are ignored, as
// the original does.
BertConfig parse_bert_config(const std::string& text, const std::string& where);
// UsageError when sizes do not fit each other or the activation is unknown; `where` begins the
// message.
void check_bert_config(const BertConfig& config, const std::string& where);
// The same; where(field) begins the message about a field.
void check_bert_config(const BertConfig& config,
                       const std::function<std::string(const std::string& field)>& where);

}  // namespace smelt
