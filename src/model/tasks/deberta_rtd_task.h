// Replaced-token detection with DeBERTa (DeBERTa-v3, He et al. 2023): a generator is trained as a
// masked LM, and a discriminator learns which tokens it replaced. Masks, samples, losses and
// metrics are those of ELECTRA (model/tasks/electra_task.h).
//
// The two share word embeddings by gradient-disentangled embedding sharing (section 3.2 of the
// paper): the discriminator reads the generator's table, without its gradient, plus a table that
// starts at zero. So the generator's loss alone trains the shared table.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>

#include "model/models/deberta_config.h"
#include "model/tasks/electra_task.h"

namespace smelt::model {

// Settings of replaced-token detection, with the paper's values.
struct DebertaRtdSettings {
  double gen_weight = 1, disc_weight = 50;
  double mask_prob = 0.15;
  double temperature = 1;
  double generator_layers = 0.5;  // relative to the discriminator
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, DebertaRtdSettings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("gen_weight", c.gen_weight, "factor of the generator's loss");
  visit("disc_weight", c.disc_weight, "factor of the discriminator's loss");
  visit("mask_prob", c.mask_prob, "share of masked tokens, drawn in each step");
  visit("temperature", c.temperature, "temperature of sampling from the generator");
  visit("generator_layers", c.generator_layers,
        "number of generator layers, relative to the discriminator");
}

struct DebertaRtdTask {
  DebertaConfig model = {};  // the discriminator
  DebertaRtdSettings settings = {};
  std::int64_t seq_length = 128;
  ElectraIds ids = {};
  // The most frequent masked token in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};
};

// Returns the config of the generator: as wide as the discriminator, with fewer layers.
DebertaConfig deberta_generator(const DebertaRtdTask& config);

// Returns the task "deberta_rtd". Losses: masked_lm_loss and disc_loss; the metrics are those of
// electra_task(). Throws UsageError for contradicting settings.
Task deberta_rtd_task(const DebertaRtdTask& config);

// The objective for given masks; `sample` draws the replacement tokens.
Objective deberta_rtd_objective(const Scope& root, const DebertaRtdTask& config,
                                const MaskedInputs& in, const Sampler& sample);

// Predicts the probability that each token was replaced, f32 [B,S], from input_ids, input_mask and
// segment_ids [S]. The model is an exported discriminator with the head mask_predictions.
Prediction deberta_replaced(const Encoder& encoder, std::int64_t S);

}  // namespace smelt::model
