// The head of a classifier in any of the formats of checkpoint/interop/stored_model.h.
#pragma once

#include <string>

#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/stored_model.h"

namespace smelt::checkpoint {

// Whether the tensors include a question-answering head.
bool is_answer_head(const io::LazyTensors& tensors);

// Returns the name of the family of a classifier's encoder: "bert", "electra".
std::string encoder_name_of(const io::LazyTensors& tensors);
std::string stored_encoder_name(const StoredModel& classifier);

// Returns the head that a checkpoint's settings or a folder's config describe. If neither does, as
// in a TensorFlow checkpoint, the classes are named LABEL_0, LABEL_1, ... Throws UsageError if the
// problem type is unknown.
ClassifierHead stored_head(const StoredModel& classifier);

// Returns the classifier's settings as a run stores them in its checkpoints next to "model".
Json classifier_settings(const std::string& encoder, const ClassifierHead& head);

}  // namespace smelt::checkpoint
