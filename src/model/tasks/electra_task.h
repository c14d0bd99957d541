// ELECTRA pretraining as a task (google-research/electra run_pretraining.py). A generator is
// trained as a masked LM, and a discriminator learns which tokens it replaced. Other settings
// select Electric or a plain masked LM.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "model/models/electra.h"
#include "model/tasks/dynamic_masking.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Settings of the objective. Except for `masks`, fields and defaults are those of
// configure_pretraining.py in the original.
struct ElectraSettings {
  // Detect replaced tokens. If this and electric_objective are false: a plain masked LM.
  bool electra_objective = true;
  bool electric_objective = false;  // detect noise tokens (Electric); uses two towers
  double gen_weight = 1, disc_weight = 50;
  double mask_prob = 0.15;
  bool uniform_generator = false;
  bool two_tower_generator = false;
  bool disallow_correct = false;
  double temperature = 1;
  MaskDraws masks = MaskDraws::distinct;
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, ElectraSettings>
void visit_fields(Config& c, Visitor&& visit) {
  visit("electra_objective", c.electra_objective, "learn which tokens the generator replaced");
  visit("electric_objective", c.electric_objective,
        "learn to tell original tokens from noise, given the probability that the noise generator "
        "assigns to each token (Electric); if neither this nor electra_objective is set, the model "
        "is a masked LM");
  visit("gen_weight", c.gen_weight, "factor of the generator's loss");
  visit("disc_weight", c.disc_weight, "factor of the discriminator's loss");
  visit("mask_prob", c.mask_prob, "share of masked tokens, drawn in each step");
  visit("uniform_generator", c.uniform_generator,
        "replace masked tokens by uniformly random tokens");
  visit("two_tower_generator", c.two_tower_generator,
        "predict each token from those before and after it (Electric)");
  visit("disallow_correct", c.disallow_correct, "never sample the original token");
  visit("temperature", c.temperature, "temperature of sampling from the generator");
  visit("masks", c.masks,
        "distinct: masked positions are all different; original: they are drawn with replacement, "
        "as in the original program");
}

// Ids of special tokens.
struct ElectraIds {
  std::int32_t cls = 101, sep = 102, mask = 103;  // in BERT's uncased vocabulary
};

// Settings of ELECTRA pretraining.
struct ElectraTask {
  ElectraConfig model = {};
  ElectraSettings settings = {};
  std::int64_t seq_length = 128;
  ElectraIds ids = {};
  // The most frequent masked token in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};

  bool has_discriminator() const {
    return settings.electra_objective || settings.electric_objective;
  }
  bool has_two_towers() const {
    return settings.two_tower_generator || settings.electric_objective;
  }
  MaskingRule masking() const;
};

// Returns the task. Losses: masked_lm_loss (cloze_loss with two towers) and disc_loss. Metrics:
// masked_lm_accuracy, sampled_masked_lm_accuracy, disc_accuracy, disc_precision, disc_recall,
// always_original_accuracy (the accuracy of predicting that no token is replaced) and, in
// evaluation, disc_auc. Throws UsageError for contradicting settings.
Task electra_task(const ElectraTask& config);

// Outputs of the generator.
struct Generated {
  compiler::Tensor logits = {};     // f32 [B*N, V] for masked tokens
  LmHead all = {};                  // with two towers: LM head on the rows of all tokens
  Shared shared = Shared::nothing;  // the part of the discriminator already declared
};

// ---- the objective for given masks and samples ----

// A masked batch.
struct MaskedInputs {
  EncoderInputs inputs;         // unmasked
  compiler::Tensor masked_ids;  // s32 [B,S]: input of the generator
  Masks masks;
};

// Samples ids s32 [B,N] from the generator's logits f32 [B,N,V].
using Sampler = std::function<compiler::Tensor(compiler::Tensor logits)>;

// The two models of replaced-token detection.
struct ReplacementModels {
  // Applies the generator.
  std::function<Generated(const Scope& root, const MaskedInputs& in)> generated;
  // Returns f32 [B*S]: positive where the discriminator considers a token replaced.
  std::function<compiler::Tensor(const Scope& root, const EncoderInputs& tokens,
                                 const Generated& generated)>
      found;
};

// Draws the masks of a batch in the scope "masking", and returns the objective that `of` makes of
// the masked batch.
Objective with_drawn_masks(
    const Scope& root, const MaskingRule& rule, const Inputs& in,
    const std::function<Objective(const MaskedInputs& masked, const Sampler& sample)>& of);

// Returns the losses and metrics of the models for given masks; `sample` draws the replacement
// tokens. Uses only vocab_size of config.model.
Objective replacement_objective(const Scope& root, const ElectraTask& config,
                                const ReplacementModels& models, const MaskedInputs& in,
                                const Sampler& sample);
// Returns replacement_objective() with the models of ELECTRA.
Objective electra_objective(const Scope& root, const ElectraTask& config, const MaskedInputs& in,
                            const Sampler& sample);

// ---- predictions of a trained model ----

// Predicts masked tokens with the generator. Inputs: input_ids, input_mask, segment_ids [S] and
// masked_lm_positions [P]. Outputs: the `top` best words at each position, as probabilities f32
// [B*P, top] and ids s32 [B*P, top]. Throws UsageError that begins with `where` for a uniform
// generator.
Prediction electra_mask_guesses(const ElectraTask& config, std::int64_t S, std::int64_t P,
                                std::int64_t top, const std::string& where);

// Scores words at masked positions with the generator. Inputs: those of electra_mask_guesses() and
// masked_lm_ids [P]. Output: the log-probability of each id at its position, f32 [B,P]. Throws
// UsageError that begins with `where` for a uniform generator.
Prediction electra_word_scores(const ElectraTask& config, std::int64_t S, std::int64_t P,
                               const std::string& where);

// Predicts the probability that each token was replaced, f32 [B,S], from input_ids, input_mask,
// segment_ids [S]. Throws UsageError that begins with `where` for a masked LM, which has no
// discriminator.
Prediction electra_replaced(const ElectraTask& config, std::int64_t S, const std::string& where);

// ---- shared by the objective and the predictions ----

// Applies the generator.
Generated electra_generated(const Scope& root, const ElectraTask& config, const MaskedInputs& in);

// Returns f32 [B*S]: positive where a token is predicted to be replaced. For Electric, the log-odds
// include the likelihood of the tokens as noise.
compiler::Tensor electra_found_logits(const Scope& root, const ElectraTask& config,
                                      const EncoderInputs& tokens, const Generated& generated);

}  // namespace smelt::model
