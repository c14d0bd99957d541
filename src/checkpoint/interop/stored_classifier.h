// A classifier of any of the forms that checkpoint/interop/stored_model.h opens.
#pragma once

#include <string>

#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/stored_model.h"

namespace smelt {

// Whether a head that finds answers is among them.
bool is_answer_head(const LazyTensors& tensors);

// Returns the name of the family of a classifier's encoder: "bert", "electra".
std::string encoder_name_of(const LazyTensors& tensors);
std::string stored_encoder_name(const StoredModel& classifier);

// What a checkpoint's settings or a folder's config say of its head; where nothing does, as of a
// TensorFlow checkpoint, its classes are LABEL_0, LABEL_1, …. UsageError for a problem that is
// unknown.
ClassifierHead stored_head(const StoredModel& classifier);

// As a run's checkpoints have it in their settings, beside "model".
Json classifier_settings(const std::string& encoder, const ClassifierHead& head);

}  // namespace smelt
