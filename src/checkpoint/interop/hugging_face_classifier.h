// An encoder fine-tuned to tell texts or their words apart, or to find answers, as the folder that
// transformers' Bert- and ElectraForSequenceClassification, …ForTokenClassification,
// …ForQuestionAnswering load, and back.
// Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <optional>
#include <string_view>

#include "checkpoint/interop/model_folder.h"
#include "io/formats/labels.h"
#include "model/models/classifier.h"

namespace smelt {

// "BertForSequenceClassification", …
std::string classifier_class(const Encoder& encoder, Problem problem);

struct HuggingFaceClassifier {
  Encoder encoder;
  Labels labels;
  double dropout = 0.1;         // of what the head is given
  std::int64_t seq_length = 0;  // tokens of a text or window in training; 0: not stored
  AnswerLimits answers = {};    // of answer_spans
  ModelFolder folder;           // its config, parameters and max_tokens are not looked at
};

// UsageError as write_model_folder() has it.
void export_hugging_face(const std::string& folder, HuggingFaceClassifier model,
                         const LazyTensors& parameters, const FolderForm& form);

// Composes names of classes (Unicode NFC), as those of rows are. Every reader of labels uses it.
std::vector<std::string> composed_labels(std::vector<std::string> names);

// What a config.json says of a head that scores whole texts or tokens; nothing where it is another
// class'. UsageError, which `where` begins, for labels or a problem that cannot be read.
struct ClassifierHead {
  Labels labels;
  double dropout = 0.1;
  std::int64_t seq_length = 0;  // tokens of a text or window in training; 0: not known
  AnswerLimits answers = {};    // of answer_spans
};
std::optional<ClassifierHead> classifier_head(const Json& config, const std::string& where);
// The same as a classifier's own checkpoints have it in their settings.
Json head_settings(const ClassifierHead& head);
// Takes "seq_length" and "answers" of such settings, or of a config.json; both may be missing.
// UsageError, which `where` begins, for values that are not positive integers.
void take_limits(const Json& settings, const std::string& where, ClassifierHead& head);

}  // namespace smelt
