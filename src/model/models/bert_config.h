// BERT hyperparameters in the file format of the original (bert_config.json).
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "base/json.h"
#include "model/nn/layers.h"

namespace smelt::model {

// Fields and defaults of BertConfig in google-research/bert modeling.py.
struct BertConfig {
  std::int64_t vocab_size = 0;  // required
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  // 0: hidden_size / num_attention_heads; set in pruned models only
  std::int64_t attention_head_size = 0;
  std::int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";  // tanh approximation
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 16;
  double initializer_range = 0.02;
  // Fixed by the model family; not stored in the file.
  Gelu gelu = Gelu::tanh;            // ELECTRA and RoBERTa use erf
  double layer_norm_eps = 1e-12;     // kLayerNormEpsilon
  std::int64_t position_offset = 0;  // unused rows at the start of the position table
  bool reads_segments = true;        // false: every token has segment 0
};

// Visits the fields with their names in bert_config.json, values and help texts
// (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, BertConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = lines of the vocabulary");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("num_hidden_layers", c.num_hidden_layers, "encoder layers");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer");
  // Written for pruned models only, because the original's files do not have this field.
  if (!std::is_const_v<Config> || c.attention_head_size != 0)
    visit("attention_head_size", c.attention_head_size, "width of a head in a pruned model");
  visit("intermediate_size", c.intermediate_size, "width of the feed-forward layer");
  visit("hidden_act", c.hidden_act,
        "gelu (tanh approximation), gelu_erf (exact), relu, tanh or linear");
  visit("hidden_dropout_prob", c.hidden_dropout_prob, "dropout of hidden states");
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("max_position_embeddings", c.max_position_embeddings, "maximum sequence length in tokens");
  visit("type_vocab_size", c.type_vocab_size, "number of segment types");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
}

// Return the width of one head and of all heads of a layer.
std::int64_t head_width(const BertConfig& config);
std::int64_t attention_width(const BertConfig& config);

// Parses a config file. Throws UsageError that begins with `where` if vocab_size is missing, a
// value has the wrong type, sizes contradict each other, or an unknown field looks like a typo.
// Other unknown fields are ignored, as in the original.
BertConfig parse_bert_config(const std::string& text, const std::string& where);
// Throws UsageError that begins with `where` if sizes contradict each other or the activation is
// unknown.
void check_bert_config(const BertConfig& config, const std::string& where);
// Checks the same. A message about a field begins with where(field).
void check_bert_config(const BertConfig& config,
                       const std::function<std::string(const std::string& field)>& where);

}  // namespace smelt::model
