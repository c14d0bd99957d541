// ELECTRA's pre-training as a task (google-research/electra run_pretraining.py): a generator learns
// masked tokens, a discriminator which tokens are the generator's; Electric and a plain masked LM
// with the same switches.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "models/electra_config.h"
#include "models/encoder.h"
#include "tasks/dynamic_masking.h"
#include "tasks/task.h"

namespace smelt {

enum class ElectraLearns {
  replaced_tokens,  // electra_objective
  noise,            // electric_objective: which tokens are noise, given how likely noise is
  masked_tokens,    // neither: a masked LM of the discriminator's size
};

enum class Generator {
  masked_lm,
  two_towers,  // two_tower_generator, Electric's: all tokens from those before and after them
  uniform,     // uniform_generator: any token
};

struct SpecialIds {
  std::int32_t cls = 101, sep = 102, mask = 103;  // of BERT's lower-cased vocabulary
};

// Fields as the original's hyper-parameters of these names.
struct ElectraTask {
  ElectraConfig model = {};
  std::int64_t seq_length = 128;
  SpecialIds ids = {};
  ElectraLearns learns = ElectraLearns::replaced_tokens;
  Generator generator = Generator::masked_lm;
  double mask_prob = 0.15;
  double gen_weight = 1, disc_weight = 50;
  double temperature = 1;         // of sampling from the generator
  bool disallow_correct = false;  // what the generator samples is never the masked token
  Draws masks = Draws::distinct;
  // The most frequent answer in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};

  // N: masked tokens of a sequence, at most.
  std::int64_t max_predictions() const {
    return static_cast<std::int64_t>((mask_prob + 0.005) * static_cast<double>(seq_length));
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

}  // namespace smelt
