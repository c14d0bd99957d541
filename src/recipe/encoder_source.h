// Which pre-trained encoder a recipe fine-tunes.
#pragma once

#include <string>

#include "checkpoint/stored_model.h"
#include "models/classifier.h"

namespace smelt {

// The encoder in a folder of weights, as train.init names them, without reading these. UsageError
// beginning with `where` for what holds no BERT or ELECTRA, or does not tell its sizes.
Encoder encoder_in(const std::string& weights, const std::string& where);
Encoder encoder_of(const StoredModel& model);

}  // namespace smelt
