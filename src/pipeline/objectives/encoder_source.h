// The pretrained encoder that a recipe fine-tunes.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/interop/stored_model.h"
#include "model/models/classifier.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the config of the encoder in a folder that train.init_from names, without reading its
// weights. Throws UsageError, which begins with `where`, if it is not an encoder or its sizes are
// unknown. `gelu` selects how gelu in a BERT of transformers is read.
model::Encoder encoder_in(const std::string& weights, const std::string& where,
                          checkpoint::BertGelu gelu = checkpoint::BertGelu::tanh);
model::Encoder encoder_of(const checkpoint::StoredModel& model);

// Returns the sizes of the model in train.init_from as values of the recipe's section `model`, for
// continued pretraining. `set` contains the fields that the recipe sets; `sizes_of` returns the
// config of the model in a folder. Empty if train.init_from is empty, remote or missing, or names
// a model of another kind.
FieldValues sizes_of_pretrained(const FieldValues& set,
                                const std::function<Json(const std::string& init)>& sizes_of);

}  // namespace smelt::pipeline
