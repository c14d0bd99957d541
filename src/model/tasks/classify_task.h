// Texts told apart, or given numbers, by a pre-trained encoder: one class of several, any number of
// them, a regression, a class for each word, or where the answer to a question stands.
#pragma once

#include <cstdint>

#include "io/formats/labels.h"
#include "model/models/classifier.h"
#include "model/tasks/distill.h"
#include "model/tasks/task.h"

namespace smelt {

struct ClassifyTask {
  Encoder encoder = {};
  std::int64_t seq_length = 128;
  std::vector<std::int64_t> lengths = {};  // as Task has them
  Labels labels = {};
  double dropout = 0.1;       // of what the head is given
  double label_center = 0;    // of a regression: about the mean of its labels, for pearson's sums
  AnswerLimits answers = {};  // of answer_spans
  // What the loss of a row or word of each class counts in training; empty: all the same. Of
  // single_label and token_labels.
  std::vector<double> class_weights = {};
  double label_smoothing = 0;  // likewise: the share of the label that all classes have alike
};

// Losses and metrics, over rows whose is_real_example is 1:
//   single_label  loss "classification_loss"; accuracy, macro_f1, matthews; of two classes also f1,
//                 that of the second
//   multi_label   loss "classification_loss"; accuracy (all classes of a text right), micro_f1,
//                 macro_f1
//   regression    loss "squared_error"; pearson
//   token_labels  as single_label, over the words of all texts
//   answer_spans  loss "answer_loss", the mean of the first and the last token's cross entropy over
//                 the window's tokens (run_squad.py); span_accuracy (both right)
// With class weights w and smoothing e a training loss is that of torch's CrossEntropyLoss: the sum
// of (1 - e) w_y nll_y + e / C sum_c w_c nll_c over rows, by the sum of their w_y. In evaluation
// the loss is the plain cross entropy, so that runs can be compared.
// UsageError when seq_length exceeds the model's positions.
Task classify_task(const ClassifyTask& config);

// Such a classifier as a student's teacher.
Teacher classify_teacher(const ClassifyTask& config, FrozenModel model);

// input_ids, input_mask, segment_ids [S] -> f32 [B,C]: probabilities; of a regression numbers; of
// token_labels [B,S,C]; of answer_spans logits [B,S,2].
Prediction class_probabilities(const ClassifyTask& config, std::int64_t S);

}  // namespace smelt
