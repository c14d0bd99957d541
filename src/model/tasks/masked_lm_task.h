// Masked-LM pretraining without next-sentence prediction, for any encoder with a masked-LM head.
// Masks are drawn in each step (Liu et al. 2019, section 4.1), so the examples are ELECTRA's: texts
// without masks (data/preprocess/electra_examples.h). Inference with the head: mask_guesses() and
// word_scores() (model/tasks/bert_task.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/models/classifier.h"
#include "model/tasks/dynamic_masking.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Settings of masked-LM pretraining.
struct MaskedLmTask {
  Encoder encoder = {};
  std::int64_t seq_length = 128;
  double mask_prob = 0.15;
  // The share of masked tokens at the last step: it changes linearly from mask_prob to this value
  // over `steps` steps. Evaluations always use this value. 0: the share is constant.
  double last_mask_prob = 0;
  std::int64_t steps = 0;
  // Ids of the special tokens around texts and of the mask.
  std::int32_t cls = 0, sep = 2, mask = 4;
  // The most frequent masked token in the training data, if known, for majority_token_accuracy.
  std::optional<std::int32_t> majority_token = {};

  MaskingRule masking() const;
};

// Returns the task, named after the encoder's family. Loss: masked_lm_loss; metric:
// masked_lm_accuracy. At masked positions the model reads the mask token (80 %), a random token (10
// %) or the original token (10 %). Throws UsageError if the sequence exceeds the maximum sequence
// length or mask_prob masks no token.
Task masked_lm_task(const MaskedLmTask& config);

// Returns the loss and metric for given masks. `in.input_ids` are the ids after masking, which the
// encoder reads; `masks` has the original ids.
Objective masked_lm_objective(const Scope& root, const MaskedLmTask& config,
                              const EncoderInputs& in, const Masks& masks);

}  // namespace smelt::model
