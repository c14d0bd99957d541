// The T5 model that train.init_from or model.like names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "model/models/t5_config.h"
#include "model/tasks/distill.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

struct PretrainedT5 {
  model::T5Config model;
  // Sentinels added to its vocabulary; nullopt: not stored.
  std::optional<std::int64_t> extra_ids;
};

// Returns the model of a checkpoint's state. Throws UsageError, which begins with `where`, if it is
// not a T5.
PretrainedT5 t5_of_settings(const Json& state, const std::string& where);
// Returns the model in a folder or checkpoint of any format. Throws UsageError if it is missing or
// not a T5.
PretrainedT5 t5_in(const std::string& weights, const std::string& where);

// Returns a T5 as a teacher for distillation (ObjectiveType::teacher).
model::Teacher t5_teacher_of(const Recipe& recipe, const checkpoint::StoredModel& model,
                             model::FrozenModel held);

}  // namespace smelt::pipeline
