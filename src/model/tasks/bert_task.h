// BERT pretraining as a task (google-research/bert run_pretraining.py): masked LM and optional
// next-sentence prediction; and prediction of masked tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "model/models/bert_config.h"
#include "model/models/classifier.h"
#include "model/tasks/distill.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Settings of BERT pretraining.
struct BertTask {
  BertConfig model = {};
  std::int64_t seq_length = 128;
  std::int64_t max_predictions = 20;
  // Whether to train next-sentence prediction. If false, the head and the pooler keep their values.
  bool next_sentence = true;
  // Whether the model has a pooler and a next-sentence head. transformers' BertForMaskedLM has
  // neither; next_sentence must then be false.
  bool has_pooler = true;
  // The most frequent masked token in the training data, if known. The metric
  // majority_token_accuracy is the accuracy of always predicting it.
  std::optional<std::int32_t> majority_token = {};
};

// Returns the task. Losses: masked_lm_loss, next_sentence_loss. Metrics: masked_lm_accuracy,
// next_sentence_accuracy. Throws UsageError if seq_length exceeds the model's maximum sequence
// length.
Task bert_task(const BertTask& config);

// Returns a teacher for masked-LM students, which learn its scores at the masked positions.
Teacher bert_teacher(const BertConfig& config, FrozenModel model);

// Predicts masked tokens with any encoder that has a masked-LM head. Inputs: input_ids, input_mask,
// segment_ids [S] and masked_lm_positions [P]. Outputs: the `top` best words at each position, as
// probabilities f32 [B*P, top] and ids s32 [B*P, top].
Prediction mask_guesses(const Encoder& encoder, std::int64_t S, std::int64_t P, std::int64_t top);
// Scores words at masked positions. Inputs: token_features(), masked_lm_positions [P] and
// masked_lm_ids [P]. Output: the log-probability of each id at its position, f32 [B,P].
Prediction word_scores(const Encoder& encoder, std::int64_t S, std::int64_t P);
// Pools the last layer of an encoder. Inputs: token_features(). Outputs, f32 [B,H] each: the mean
// over all tokens except padding, and the vector of the first token.
Prediction pooled_states(const Encoder& encoder, std::int64_t S);
// Calls mask_guesses() for a BERT with this config.
Prediction bert_mask_guesses(const BertConfig& model, std::int64_t S, std::int64_t P,
                             std::int64_t top);

}  // namespace smelt::model
