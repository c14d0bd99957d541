// The programs of BERT pre-training: one training step, one evaluation batch, one prediction batch,
// each as one graph over named arguments.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "hlo/writer.h"
#include "models/bert.h"
#include "optim/adamw.h"
#include "optim/schedule.h"

namespace smelt {

// Where the loss is normalised and the gradient clipped when several devices share a batch.
//   global       one loss over the whole batch; the clip sees the gradient of all devices (the
//   default) per_replica  the original's order: each device normalises its own loss and clips its
//   own gradient,
//                then the gradients are summed (not averaged) over the devices
enum class Reduction { global, per_replica };

struct BatchShape {
  std::int64_t batch_size = 32;  // over all devices
  std::int64_t seq_length = 128;
  std::int64_t max_predictions = 20;
};

struct PretrainingConfig {
  BertConfig model;
  BatchShape batch;
  Schedule schedule;
  AdamW optimizer;
  double clip_norm = 1.0;
  Reduction reduction = Reduction::global;
  std::int64_t devices = 1;
  std::uint64_t seed = 12345;  // of dropout
  bool next_sentence = true;   // whether its loss counts; without it the head stays as it was
};

// The batch's arguments in order, first in every program: the names of the tf.Example features.
constexpr std::array<std::string_view, 7> kBatchFeatures{
    "input_ids",     "input_mask",        "segment_ids",         "masked_lm_positions",
    "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"};

// What a training step reports, in this order, as one f32 vector.
constexpr std::array<std::string_view, 7> kTrainMetrics{"loss",
                                                        "masked_lm_loss",
                                                        "next_sentence_loss",
                                                        "masked_lm_accuracy",
                                                        "next_sentence_accuracy",
                                                        "gradient_norm",
                                                        "learning_rate"};

// What an evaluation batch reports: the batch's loss, then sums that add up over batches.
constexpr std::array<std::string_view, 7> kEvalMetrics{"loss",
                                                       "masked_lm_sum",
                                                       "masked_lm_weight",
                                                       "masked_lm_correct",
                                                       "next_sentence_sum",
                                                       "next_sentence_correct",
                                                       "examples"};

// A program and the parameters of its model.
//   train:  batch, step s32, replica s32 (per_replica only), values, m, v -> values, m, v, metrics;
//           values, m and v are donated
//   eval:   batch, values -> metrics; always over the whole batch as Reduction::global
//   predict: input_ids, input_mask, segment_ids, masked_lm_positions, values
//            -> top probabilities f32 [B*P, k], their ids s32 [B*P, k]
struct PretrainingProgram {
  Program program;
  Parameters parameters;
  bool takes_replica = false;  // compiled per replica: each device is told its number
};

// UsageError when the batch does not divide over the devices or a length exceeds the model's.
void build_train_step(const PretrainingConfig& config, PretrainingProgram& out);
void build_eval_step(const PretrainingConfig& config, PretrainingProgram& out);
void build_predict_step(const PretrainingConfig& config, std::int64_t top, PretrainingProgram& out);

}  // namespace smelt
