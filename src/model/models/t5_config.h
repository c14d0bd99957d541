// T5 hyperparameters, with the names of Hugging Face's config.json.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

namespace smelt::model {

// The defaults are those of T5-small (Raffel et al. 2020).
struct T5Config {
  std::int64_t vocab_size = 0;  // required
  std::int64_t d_model = 512;
  std::int64_t d_kv = 64;
  std::int64_t d_ff = 2048;
  std::int64_t num_layers = 6;
  std::int64_t num_decoder_layers = 0;  // 0: num_layers
  std::int64_t num_heads = 8;
  std::int64_t relative_attention_num_buckets = 32;
  std::int64_t relative_attention_max_distance = 128;
  double dropout_rate = 0.1;
  double layer_norm_epsilon = 1e-6;
  double initializer_factor = 1.0;
  std::string feed_forward_proj = "relu";  // or gated-gelu (T5 1.1)
  bool tie_word_embeddings = true;         // false in T5 1.1

  std::int64_t decoder_layers() const {
    return num_decoder_layers > 0 ? num_decoder_layers : num_layers;
  }
  bool is_gated() const { return feed_forward_proj == "gated-gelu"; }
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, T5Config>
void visit_fields(Config& c, Visitor&& visit) {
  visit("vocab_size", c.vocab_size,
        "rows of the embedding; 0 = pieces and sentinels, rounded up to a multiple of 128");
  visit("d_model", c.d_model, "width of both stacks");
  visit("d_kv", c.d_kv, "width of a head");
  visit("d_ff", c.d_ff, "width of the feed-forward layer");
  visit("num_layers", c.num_layers, "encoder layers");
  visit("num_decoder_layers", c.num_decoder_layers, "decoder layers; 0 = num_layers");
  visit("num_heads", c.num_heads, "heads per layer");
  visit("relative_attention_num_buckets", c.relative_attention_num_buckets,
        "buckets of relative positions");
  visit("relative_attention_max_distance", c.relative_attention_max_distance,
        "larger distances share one bucket");
  visit("dropout_rate", c.dropout_rate, "dropout rate; T5 1.1 pre-trains with 0");
  visit("layer_norm_epsilon", c.layer_norm_epsilon, "epsilon of the layer norms");
  visit("initializer_factor", c.initializer_factor,
        "factor on the standard deviations of new weights");
  visit("feed_forward_proj", c.feed_forward_proj, "relu, or gated-gelu as in T5 1.1");
  visit("tie_word_embeddings", c.tie_word_embeddings,
        "use the embedding table as output layer; T5 1.1: false");
}

// Throws UsageError if a size is invalid or a name is unknown. where(field) begins the message
// about a field.
void check_t5_config(const T5Config& config,
                     const std::function<std::string(const std::string& field)>& where);

}  // namespace smelt::model
