// Distillation (Hinton et al. 2015): a task whose model is also held to what another, the teacher,
// says of the same batch in the same program. The teacher's parameters are held as they are given,
// and nothing of it is dropped out.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/tasks/task.h"

namespace smelt {

// Factors of the losses; 0: there is no such loss.
struct Distillation {
  double temperature = 2;
  double ce = 0.1, kd = 0.9;
  double hidden = 0, attention = 0, cosine = 0;
  std::string layers = "auto";
  std::string precision = "auto";
};

template <class Config, class Visitor>
  requires std::same_as<std::remove_const_t<Config>, Distillation>
void visit_fields(Config& c, Visitor&& visit) {
  visit("temperature", c.temperature, "by which scores are divided before they are compared");
  visit("ce", c.ce, "factor of the task's own loss, by the labels");
  visit("kd", c.kd, "of temperature^2 KL(teacher || student) of what is answered");
  visit("hidden", c.hidden,
        "of the mean square between hidden states of layers that belong together (TinyBERT); where "
        "widths differ the student's go through a matrix that is learned");
  visit("attention", c.attention,
        "of the mean square between these layers' scores of attention, before the softmax; as many "
        "heads in both");
  visit("cosine", c.cosine,
        "of 1 - cosine of both last hidden states (DistilBERT); as wide in both");
  visit("layers", c.layers,
        "which belong together, 0 the embeddings: '0:0,1:2,2:4' (student:teacher); auto: 0:0 and "
        "each of the student's with the one at its height in the teacher; last: both last ones");
  visit("precision", c.precision, "of the teacher's products: f32, bf16; auto: as train.precision");
}

// What says what the student shall say. `tell` is given the root of its parameters.
struct Teacher {
  FrozenModel model;
  OutputSpec sizes;
  Json settings;  // by which a resumed run knows it again
  // What a task's settings must say as its own did: {"problem", …}, {"labels", …}.
  Json asked = Json::object();
  std::function<void(const Scope& root, const Inputs& inputs, ForwardOutputs& told)> tell;
};

// Pairs of layers (student's, teacher's) of stacks of so many. UsageError for what names none.
std::vector<std::pair<std::int64_t, std::int64_t>> layer_pairs(const std::string& layers,
                                                               std::int64_t student,
                                                               std::int64_t teacher);

// In training the student's losses times `ce`, then kd_loss, hidden_loss, attention_loss and
// cosine_loss, each over what counts: rows of answers, and tokens. An evaluation is the student's
// own. Factors of 0 leave their losses out; the task's own are metrics then. UsageError for a task
// that cannot be distilled, and for a teacher that does not fit it (both values).
Task distilled(Task student, const Teacher& teacher, const Distillation& settings);

}  // namespace smelt
