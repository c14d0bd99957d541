// Masked-language-model pretraining without next sentences, for any encoder with a
// masked-language-model head. Masks are drawn in each step (Liu et al. 2019, section 4.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/models/classifier.h"
#include "model/tasks/dynamic_masking.h"
#include "model/tasks/task.h"

namespace smelt {

struct MaskedLmTask {
  Encoder encoder = {};
  std::int64_t seq_length = 128;
  double mask_prob = 0.15;
  // Ids of the tokens around texts and of the mask.
  std::int32_t cls = 0, sep = 2, mask = 4;
  // The most frequent answer in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};

  MaskingRule masking() const;
};

// Returns the task, named like the encoder's family: loss masked_lm_loss, metric
// masked_lm_accuracy. Of the masked positions 80 % read the mask token, 10 % a random token and
// 10 % their own. Throws UsageError for a sequence longer than the model's positions, and for a
// mask_prob that masks no token.
Task masked_lm_task(const MaskedLmTask& config);

// The objective for masks that are drawn already: `in.input_ids` are what the encoder reads.
Objective masked_lm_objective(const Scope& root, const MaskedLmTask& config,
                              const EncoderInputs& in, const Masks& masks);

}  // namespace smelt
