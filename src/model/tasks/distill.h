// Knowledge distillation (Hinton et al. 2015): the model also learns to match the outputs of a
// teacher on the same batch, in the same program. The teacher's parameters are frozen and it has no
// dropout.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/tasks/task.h"

namespace smelt::model {

// Settings of distillation. ce, kd, hidden, attention and cosine are factors of losses; 0 omits the
// loss.
struct Distillation {
  double temperature = 2;
  double ce = 0.1, kd = 0.9;
  double hidden = 0, attention = 0, cosine = 0;
  std::string layers = "auto";
  std::string precision = "auto";
};

// Visits the fields with their names, values and help texts (io/formats/config.h).
template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, Distillation>
void visit_fields(Config& c, Visitor&& visit) {
  visit("temperature", c.temperature,
        "temperature of the softmax: scores are divided by it before they are compared");
  visit("ce", c.ce, "factor of the task's loss on the labels");
  visit("kd", c.kd, "factor of temperature^2 KL(teacher || student) of the outputs");
  visit("hidden", c.hidden,
        "factor of the mean squared difference of hidden states of paired layers (TinyBERT); if "
        "the widths differ, the student's are projected by a learned matrix");
  visit("attention", c.attention,
        "factor of the mean squared difference of attention scores of paired layers, before the "
        "softmax; needs equal numbers of heads");
  visit("cosine", c.cosine,
        "factor of 1 - cosine of the last hidden states (DistilBERT); needs equal widths");
  visit("layers", c.layers,
        "paired layers, 0 is the embeddings: '0:0,1:2,2:4' (student:teacher); auto: 0:0 and each "
        "student layer with the teacher layer at the same relative depth; last: the last layers");
  visit("precision", c.precision,
        "precision of the teacher's matmuls: f32, bf16; auto: as train.precision.compute");
}

// A teacher model. `forward` computes its outputs, given the root scope of its parameters.
struct Teacher {
  FrozenModel model;
  OutputSpec sizes;
  Json settings;  // identifies the teacher when a run is resumed
  // Fields that Task::settings of the student must have with the same values, such as "problem" and
  // "labels".
  Json asked = Json::object();
  std::function<void(const Scope& root, const Inputs& inputs, ForwardOutputs& outputs)> forward;
};

// Returns the pairs (student layer, teacher layer) for stacks of these depths. Throws UsageError if
// `layers` is invalid.
std::vector<std::pair<std::int64_t, std::int64_t>> layer_pairs(const std::string& layers,
                                                               std::int64_t student,
                                                               std::int64_t teacher);

// Returns the student's task with distillation. Training uses the student's losses times `ce`, plus
// kd_loss, hidden_loss, attention_loss and cosine_loss over rows or tokens. A loss with factor 0 is
// omitted; the task's own losses then become metrics. Evaluation is unchanged. Throws UsageError if
// the task does not support distillation or the teacher does not match it.
Task distilled(Task student, const Teacher& teacher, const Distillation& settings);

}  // namespace smelt::model
