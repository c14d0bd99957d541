// Fine-tuning a pretrained encoder on labelled texts: single-label or multi-label classification,
// regression, token classification, extractive question answering, or reranking (a cross-encoder,
// which scores pairs of a query and a document).
#pragma once

#include <cstdint>

#include "io/formats/labels.h"
#include "model/models/classifier.h"
#include "model/tasks/distill.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Settings of a classifier.
struct ClassifyTask {
  Encoder encoder = {};
  std::int64_t seq_length = 128;
  std::vector<std::int64_t> lengths = {};  // see Task::lengths
  io::Labels labels = {};
  double dropout = 0.1;           // on the input of the head
  double label_center = 0;        // for regression: approximate mean of the labels, for pearson
  io::AnswerLimits answers = {};  // for answer_spans
  // Weight of each class in the training loss, for single_label and token_labels; empty: all equal.
  std::vector<double> class_weights = {};
  // share of the label that is spread over all classes (single_label, token_labels)
  double label_smoothing = 0;
};

// Returns the task. Losses and metrics, over rows with is_real_example 1:
//   single_label  classification_loss; accuracy, macro_f1, matthews; with two classes, f1 of the
//                 second one
//   multi_label   classification_loss; accuracy (all classes of a text correct), micro_f1, macro_f1
//   regression    squared_error; pearson
//   rerank        classification_loss: the binary cross entropy of sigmoid(logit) and the label,
//                 from 0 to 1 (sentence-transformers' BinaryCrossEntropyLoss); accuracy: a row is
//                 correct if logit > 0 and label >= 0.5 are both true or both false
//   token_labels  like single_label, over the words of all texts
//   answer_spans  answer_loss: the mean cross entropy of start and end over the tokens of the
//                 window (run_squad.py); span_accuracy (both correct)
// With class weights w and smoothing e, the training loss is that of torch's CrossEntropyLoss: the
// sum of (1 - e) w_y nll_y + e / C sum_c w_c nll_c over rows, divided by the sum of w_y. Evaluation
// uses the plain cross entropy, so that runs can be compared. Throws UsageError if seq_length
// exceeds the model's maximum sequence length.
Task classify_task(const ClassifyTask& config);

// Returns a distillation teacher that runs this classifier with the weights of `model`.
Teacher classify_teacher(const ClassifyTask& config, FrozenModel model);

// Returns the prediction of a classifier. Inputs: input_ids, input_mask and segment_ids [S]. The
// output is f32 and depends on the problem: probabilities [B,C] for classification of texts, the
// predicted numbers for regression, sigmoid(logit) for rerank, probabilities [B,S,C] for
// token_labels, and logits [B,S,2] for answer_spans.
Prediction class_probabilities(const ClassifyTask& config, std::int64_t S);

}  // namespace smelt::model
