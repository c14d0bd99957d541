// BERT's hyper-parameters, in the original's file format (bert_config.json).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace smelt {

// Fields and defaults of google-research/bert modeling.py, BertConfig.
struct BertConfig {
  std::int64_t vocab_size = 0;  // required
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::string hidden_act = "gelu";  // the tanh approximation
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 16;
  double initializer_range = 0.02;
};

// UsageError naming `where` for a missing vocab_size, a value of the wrong type, sizes that do not
// fit each other, or a field that looks like a misspelt one. Other unknown fields are ignored, as
// the original does.
BertConfig parse_bert_config(const std::string& text, const std::string& where);
BertConfig load_bert_config(const std::string& path);
// Throws UsageError when sizes do not fit each other; `where` begins the message.
void check_bert_config(const BertConfig& config, const std::string& where);

nlohmann::json bert_config_json(const BertConfig& config);

}  // namespace smelt
