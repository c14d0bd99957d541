// Hyperparameters of the BERT variants of google-research/jestimator.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

namespace smelt::model {

// Fields and defaults of the original's ModelConfig, and the variant.
struct JestimatorBertConfig {
  std::string variant = "bert";
  std::int64_t max_length = 512;
  std::int64_t hidden_size = 768;
  std::int64_t num_heads = 12;
  std::int64_t num_layers = 12;
  std::string mlp_act = "gelu";  // tanh approximation, as in Flax
  std::int64_t mlp_size = 3072;
  double initializer_range = 0.02;
  double attention_dropout_rate = 0.1;
  double hidden_dropout_rate = 0.1;
  double layer_norm_eps = 1e-12;
  std::int64_t vocab_size = 0;  // required
  std::int64_t num_segments = 1;
  std::int64_t relative_attention_max_distance = 128;

  bool is_rope() const { return variant == "rope"; }
  bool is_relative() const { return variant == "bert_rpe"; }
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, JestimatorBertConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit(
      "variant", c.variant,
      "position encoding: bert (learned positions), rope (rotary) or bert_rpe (learned distances)");
  visit("max_length", c.max_length, "maximum sequence length in tokens");
  visit("hidden_size", c.hidden_size, "width of the encoder");
  visit("num_heads", c.num_heads, "heads per layer");
  visit("num_layers", c.num_layers, "encoder layers");
  visit("mlp_act", c.mlp_act, "gelu (tanh approximation), relu, tanh or linear");
  visit("mlp_size", c.mlp_size, "width of the feed-forward layer");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
  visit("attention_dropout_rate", c.attention_dropout_rate, "dropout of attention weights");
  visit("hidden_dropout_rate", c.hidden_dropout_rate, "dropout of hidden states");
  visit("layer_norm_eps", c.layer_norm_eps, "epsilon of the layer norms");
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = tokens of the vocabulary");
  visit("num_segments", c.num_segments, "number of segment types; pre-training uses the first");
  visit("relative_attention_max_distance", c.relative_attention_max_distance,
        "for bert_rpe: larger distances share one embedding");
}

// Throws UsageError if sizes contradict each other or a name is unknown. where(field) begins the
// message about a field.
void check_jestimator_bert_config(
    const JestimatorBertConfig& config,
    const std::function<std::string(const std::string& field)>& where);

}  // namespace smelt::model
