// The T5 that weights are of, as train.init_from and model.like name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "checkpoint/interop/stored_model.h"
#include "model/models/t5_config.h"
#include "model/tasks/distill.h"
#include "pipeline/recipe.h"

namespace smelt {

struct PretrainedT5 {
  T5Config model;
  std::optional<std::int64_t> extra_ids;  // sentinels on top of its vocabulary, where it says them
};

// By a checkpoint's state. UsageError, which `where` begins, for another kind of model.
PretrainedT5 t5_of_settings(const Json& state, const std::string& where);
// By its folder or checkpoint, of any form. UsageError where it is no T5, or is not there.
PretrainedT5 t5_in(const std::string& weights, const std::string& where);

// A T5 that another is held to (ObjectiveType::teacher).
Teacher t5_teacher_of(const Recipe& recipe, const StoredModel& model, FrozenModel held);

}  // namespace smelt
