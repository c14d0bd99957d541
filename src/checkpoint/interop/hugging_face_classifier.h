// Reads and writes an encoder fine-tuned for sequence classification, token classification or
// question answering as a Hugging Face folder, which transformers' Bert- and
// ElectraForSequenceClassification, ...ForTokenClassification and ...ForQuestionAnswering load.
// Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include <optional>
#include <string_view>

#include "checkpoint/interop/model_folder.h"
#include "io/formats/labels.h"
#include "model/models/classifier.h"

namespace smelt::checkpoint {

// Returns the name of transformers' class, such as "BertForSequenceClassification".
std::string classifier_class(const model::Encoder& encoder, io::Problem problem);

// A fine-tuned encoder with its labels and vocabulary.
struct HuggingFaceClassifier {
  model::Encoder encoder;
  io::Labels labels;
  double dropout = 0.1;           // dropout rate of the head's input
  std::int64_t seq_length = 0;    // tokens per text or window in training; 0: not stored
  io::AnswerLimits answers = {};  // used only for answer_spans
  ModelFolder folder;             // its config, parameters and max_tokens are ignored
};

// Writes the folder. Throws UsageError in the same cases as write_model_folder().
void export_hugging_face(const std::string& folder, HuggingFaceClassifier model,
                         const io::LazyTensors& parameters, const FolderForm& form);

// Returns the class names in Unicode NFC, the form of the labels of examples.
std::vector<std::string> composed_labels(std::vector<std::string> names);

// The classification or question-answering head that a config.json describes.
struct ClassifierHead {
  io::Labels labels;
  double dropout = 0.1;
  std::int64_t seq_length = 0;    // tokens per text or window in training; 0: unknown
  io::AnswerLimits answers = {};  // used only for answer_spans
};
// Returns the head in a config.json, or nullopt if its class has none. Throws UsageError that
// begins with `where` if the labels or the problem type are invalid.
std::optional<ClassifierHead> classifier_head(const Json& config, const std::string& where);
// Returns the activation that sentence-transformers' CrossEncoder applies to the logits, such as
// "Sigmoid" or "Identity"; empty if the config of read_model_config() does not state it.
std::string cross_encoder_activation(const Json& config);
// Returns the head in the form in which checkpoints of a classifier store it in their settings.
Json head_settings(const ClassifierHead& head);
// Sets seq_length and answers of `head` from `settings`: a config.json or the result of
// head_settings(). Both fields are optional.
// Throws UsageError that begins with `where` if a value is not a positive integer.
void take_limits(const Json& settings, const std::string& where, ClassifierHead& head);

}  // namespace smelt::checkpoint
