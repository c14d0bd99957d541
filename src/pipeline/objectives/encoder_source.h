// The pretrained encoder that a recipe fine-tunes.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/interop/stored_model.h"
#include "model/models/classifier.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the config of the encoder in a folder that train.init_from names, without reading its
// weights. Throws UsageError, which begins with `where`, if it is not a BERT or ELECTRA or its
// sizes are unknown.
model::Encoder encoder_in(const std::string& weights, const std::string& where);
model::Encoder encoder_of(const checkpoint::StoredModel& model);

// Returns values for the recipe's section `model` if pre-training continues from the model that
// train.init_from names: the sizes of that model. `set` are the fields that are set, and
// `sizes_of(train.init_from)` returns the model's config. Empty if train.init_from is empty,
// remote, missing, or a model of another kind.
FieldValues sizes_of_pretrained(const FieldValues& set,
                                const std::function<Json(const std::string& init)>& sizes_of);

}  // namespace smelt::pipeline
