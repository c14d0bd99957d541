// The generator and the discriminator in a checkpoint of replaced-token detection with DeBERTa
// (model/tasks/deberta_rtd_task.h).
#pragma once

#include "checkpoint/interop/stored_model.h"

namespace smelt::checkpoint {

// Returns whether the tensors are of a generator and a discriminator.
bool is_pair_of_debertas(const io::LazyTensors& tensors);

// Returns the discriminator's word embeddings, "deberta/embeddings/word_embeddings": the sum of the
// generator's and of the table of differences, in f32; and its moving average if `tensors` have
// averages. Empty if `tensors` have no such table.
io::LazyTensors discriminator_words(const io::LazyTensors& tensors);
// Adds discriminator_words() to the tensors.
void add_discriminator_words(io::LazyTensors& tensors);

// Returns the generator as a masked LM, with the parameter names of an encoder and its number of
// layers in the config.
StoredModel deberta_generator_of(const StoredModel& model);

}  // namespace smelt::checkpoint
