// ELECTRA's pre-training as a task (google-research/electra run_pretraining.py): a generator learns
// masked tokens, a discriminator which tokens are the generator's; Electric and a plain masked LM
// with the same switches.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "model/models/electra.h"
#include "model/tasks/dynamic_masking.h"
#include "model/tasks/task.h"

namespace smelt {

// Fields and defaults of the original's configure_pretraining.py, and `masks`.
struct ElectraSettings {
  bool electra_objective = true;    // learn which tokens were replaced; neither: a masked LM
  bool electric_objective = false;  // learn which tokens are noise; has two towers
  double gen_weight = 1, disc_weight = 50;
  double mask_prob = 0.15;
  bool uniform_generator = false;
  bool two_tower_generator = false;
  bool disallow_correct = false;
  double temperature = 1;
  MaskDraws masks = MaskDraws::distinct;
};

template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, ElectraSettings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("electra_objective", c.electra_objective, "learn which tokens a generator replaced");
  visit("electric_objective", c.electric_objective,
        "learn which tokens are noise, given how likely noise they are (Electric); neither of the "
        "two: a masked LM");
  visit("gen_weight", c.gen_weight, "of the generator's loss");
  visit("disc_weight", c.disc_weight, "of the discriminator's loss");
  visit("mask_prob", c.mask_prob, "share of tokens masked, drawn anew in each step");
  visit("uniform_generator", c.uniform_generator, "any token takes a masked one's place");
  visit("two_tower_generator", c.two_tower_generator,
        "the generator sees what is before and after a token (Electric's)");
  visit("disallow_correct", c.disallow_correct, "what is sampled is never the masked token");
  visit("temperature", c.temperature, "of sampling from the generator");
  visit("masks", c.masks, "distinct positions, or original: drawn with replacement");
}

struct ElectraIds {
  std::int32_t cls = 101, sep = 102, mask = 103;  // of BERT's lower-cased vocabulary
};

struct ElectraTask {
  ElectraConfig model = {};
  ElectraSettings settings = {};
  std::int64_t seq_length = 128;
  ElectraIds ids = {};
  // The most frequent answer in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};

  bool has_discriminator() const {
    return settings.electra_objective || settings.electric_objective;
  }
  bool has_two_towers() const {
    return settings.two_tower_generator || settings.electric_objective;
  }
  MaskingRule masking() const;
};

// Losses masked_lm_loss (cloze_loss with two towers) and disc_loss. Metrics masked_lm_accuracy,
// sampled_masked_lm_accuracy, disc_accuracy, disc_precision, disc_recall, always_original_accuracy
// (of answering that no token is replaced) and, in evaluation, disc_auc.
// UsageError for settings that do not fit each other.
Task electra_task(const ElectraTask& config);

// ---- the objective without its draws ----

struct MaskedInputs {
  EncoderInputs inputs;  // unmasked
  Tensor masked_ids;     // s32 [B,S], what the generator reads
  Masks masks;
};

// One id for each of the generator's logits f32 [B,N,V]: s32 [B,N].
using Sampler = std::function<Tensor(Tensor logits)>;

Objective electra_objective(const Scope& root, const ElectraTask& config, const MaskedInputs& in,
                            const Sampler& sample);

// ---- answers of a trained model ----

// input_ids, input_mask, segment_ids [S], masked_lm_positions [P] -> the generator's `top` best
// guesses at each position: probabilities f32 [B*P, top], ids s32 [B*P, top]. UsageError beginning
// with `where` for a uniform generator.
Prediction electra_mask_guesses(const ElectraTask& config, std::int64_t S, std::int64_t P,
                                std::int64_t top, const std::string& where);

// input_ids, input_mask, segment_ids [S] -> how probably each token was replaced: f32 [B,S].
// UsageError beginning with `where` for a masked LM, which has no discriminator.
Prediction electra_replaced(const ElectraTask& config, std::int64_t S, const std::string& where);

// ---- what objective and answers share ----

struct Generated {
  Tensor logits = {};               // f32 [B*N, V] of the masked tokens
  LmHead all = {};                  // what scores words by the rows of all tokens, with two towers
  Shared shared = Shared::nothing;  // what of the discriminator it has declared
};

Generated electra_generated(const Scope& root, const ElectraTask& config, const MaskedInputs& in);

// Above 0 where a token is found to be replaced: f32 [B*S]. Of Electric's log-odds, too, how likely
// the tokens are as noise.
Tensor electra_found_logits(const Scope& root, const ElectraTask& config,
                            const EncoderInputs& tokens, const Generated& generated);

}  // namespace smelt
