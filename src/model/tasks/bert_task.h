// BERT's pre-training as a task (google-research/bert run_pretraining.py): masked tokens and,
// unless left out, next sentences; and its masked-token head as a prediction.
#pragma once

#include <cstdint>
#include <optional>

#include "model/models/bert_config.h"
#include "model/models/classifier.h"
#include "model/tasks/distill.h"
#include "model/tasks/task.h"

namespace smelt {

struct BertTask {
  BertConfig model = {};
  std::int64_t seq_length = 128;
  std::int64_t max_predictions = 20;
  // Whether the model learns to tell next sentences; without it the head and the pooler stay as
  // they were.
  bool next_sentence = true;
  // Whether the model has a pooler and a next-sentence head. transformers' BertForMaskedLM has
  // neither; next_sentence must be false then.
  bool has_pooler = true;
  // The most frequent answer in the training data, if known: the metric majority_token_accuracy
  // says how often it is right.
  std::optional<std::int32_t> majority_token = {};
};

// Losses masked_lm_loss, next_sentence_loss; metrics masked_lm_accuracy, next_sentence_accuracy.
// UsageError when seq_length exceeds the model's positions.
Task bert_task(const BertTask& config);

// What such a model says of masked words, as a student's teacher.
Teacher bert_teacher(const BertConfig& config, FrozenModel model);

// Predicts masked tokens by any encoder with a masked-language-model head: input_ids, input_mask,
// segment_ids [S], masked_lm_positions [P] -> the `top` best guesses at each position:
// probabilities f32 [B*P, top], ids s32 [B*P, top].
Prediction mask_guesses(const Encoder& encoder, std::int64_t S, std::int64_t P, std::int64_t top);
Prediction bert_mask_guesses(const BertConfig& model, std::int64_t S, std::int64_t P,
                             std::int64_t top);

}  // namespace smelt
