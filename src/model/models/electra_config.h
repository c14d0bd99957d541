// ELECTRA hyperparameters: a model size, fields that override it, and the size of the generator.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "model/models/bert_config.h"

namespace smelt::model {

// The settings of google-research/electra: model_size, model_hparam_overrides and the generator
// settings of configure_pretraining.py, with the rules of util/training_utils.py. A value of 0 is
// replaced by the default for `size` (small, base, large), given in the comment of the field.
struct ElectraConfig {
  std::string size = "small";
  std::int64_t vocab_size = 0;           // required
  std::int64_t embedding_size = 0;       // 128 for small, otherwise hidden_size
  std::int64_t hidden_size = 0;          // 256, 768, 1024 for small, base, large
  std::int64_t num_hidden_layers = 0;    // 12, 12, 24 for small, base, large
  std::int64_t num_attention_heads = 0;  // hidden_size / 64
  std::int64_t attention_head_size = 0;  // set for a pruned discriminator only
  std::int64_t intermediate_size = 0;    // 4 * hidden_size
  std::string hidden_act = "gelu";       // exact form, with erf
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  double initializer_range = 0.02;
  double generator_layers = 1.0;     // number of layers, relative to the discriminator
  double generator_hidden_size = 0;  // relative to the discriminator's; 0: 1/4, or 1/3 for base
  bool untied_generator = true;      // false: generator and discriminator are the same encoder
  bool untied_generator_embeddings = false;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, ElectraConfig>
void visit_fields(Config& c, Visitor&& visit) {
  visit("size", c.size, "small, base or large; sets the fields that are 0");
  visit("vocab_size", c.vocab_size, "rows of the embedding; 0 = lines of the vocabulary");
  visit("embedding_size", c.embedding_size,
        "width of the embeddings; 0: 128 for size small, otherwise hidden_size");
  visit("hidden_size", c.hidden_size,
        "width of the discriminator; 0: 256, 768 or 1024 for size small, base or large");
  visit("num_hidden_layers", c.num_hidden_layers,
        "layers of the discriminator; 0: 12, 12 or 24 for size small, base or large");
  visit("num_attention_heads", c.num_attention_heads, "heads per layer; 0: hidden_size / 64");
  if (!std::is_const_v<Config> || c.attention_head_size != 0)
    visit("attention_head_size", c.attention_head_size, "width of a head in a pruned model");
  visit("intermediate_size", c.intermediate_size,
        "width of the feed-forward layer; 0: 4 * hidden_size");
  visit("hidden_act", c.hidden_act, "gelu (exact), relu, tanh or linear");
  visit("hidden_dropout_prob", c.hidden_dropout_prob, "dropout of hidden states");
  visit("attention_probs_dropout_prob", c.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("max_position_embeddings", c.max_position_embeddings, "maximum sequence length in tokens");
  visit("type_vocab_size", c.type_vocab_size, "number of segment types");
  visit("initializer_range", c.initializer_range, "standard deviation of new weights");
  visit("generator_layers", c.generator_layers,
        "number of generator layers, relative to the discriminator");
  visit("generator_hidden_size", c.generator_hidden_size,
        "width of the generator, relative to the discriminator; 0: 0.25, or 0.33333 for size base");
  visit("untied_generator", c.untied_generator,
        "false: generator and discriminator are the same encoder");
  visit("untied_generator_embeddings", c.untied_generator_embeddings,
        "the generator has separate embeddings");
}

// Returns the width of the discriminator's embeddings.
std::int64_t electra_embedding_size(const ElectraConfig& config);
// Return the configs of the two encoders. Without untied_generator both are the discriminator's.
BertConfig discriminator_config(const ElectraConfig& config);
BertConfig generator_config(const ElectraConfig& config);

// Throws UsageError if the size is unknown, sizes contradict each other, or the generator is wider
// than a discriminator whose embeddings it shares. where(field) begins the message about a field.
void check_electra_config(const ElectraConfig& config,
                          const std::function<std::string(const std::string& field)>& where);

}  // namespace smelt::model
