// Which pre-trained encoder a recipe fine-tunes.
#pragma once

#include <functional>
#include <string>

#include "checkpoint/interop/stored_model.h"
#include "model/models/classifier.h"
#include "pipeline/recipe.h"

namespace smelt {

// The encoder in a folder of weights, as train.init_from names them, without reading these.
// UsageError beginning with `where` for what holds no BERT or ELECTRA, or does not tell its sizes.
Encoder encoder_in(const std::string& weights, const std::string& where);
Encoder encoder_of(const StoredModel& model);

// Fields of model: for a pre-training that begins with the weights of train.init_from, as settings
// have it: the sizes of the given model, by its config `sizes_of(train.init_from)`. Empty if
// train.init_from is empty, on a remote store, not there, or a model of another kind.
FieldValues sizes_of_given_model(const FieldValues& set,
                                 const std::function<Json(const std::string& init)>& sizes_of);

}  // namespace smelt
