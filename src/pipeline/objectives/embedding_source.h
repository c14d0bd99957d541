// The encoder and the pooling of a model to embed texts with.
#pragma once

#include <string>

#include "checkpoint/interop/stored_model.h"
#include "io/formats/embedding_form.h"
#include "model/models/classifier.h"

namespace smelt::pipeline {

// Like encoder_in(). The encoder of a BERT of transformers has gelu by erf if its config.json
// states it.
model::Encoder encoder_to_embed_in(const std::string& weights, const std::string& where);
// Returns the config of the encoder of an opened model in the same way.
model::Encoder encoder_to_embed(const checkpoint::StoredModel& model);

// Returns the pooling of a sentence-transformers folder or an embedding model's run; mean for any
// other path, also an empty one.
io::Pooling pooling_in_source(const std::string& weights);

}  // namespace smelt::pipeline
