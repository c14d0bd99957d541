// Names of T5's parameters: smelt's, those of the original's TensorFlow checkpoints, and Hugging
// Face's. smelt's are the original's, except that "block_003" is "block_3". Later versions of the
// original write "rms_norm" for "layer_norm", and "self_attention", "enc_dec_attention" and
// "dense_relu_dense" for "layer_000" to "layer_002"; these names are read too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/storage/parameter_names.h"
#include "io/formats/lazy_tensor.h"
#include "model/models/t5_config.h"

namespace smelt::checkpoint {

// Returns all parameters of a model, including the output projection if it is not tied to the
// embeddings.
std::vector<ParameterName> t5_names(const model::T5Config& config);

// Renames the tensors of a T5's TensorFlow checkpoint to smelt's names; returns other models
// unchanged. Drops Adafactor's optimizer state ("…/q_slot_vr") and appends a line with the number
// of dropped tensors to `skipped`.
io::LazyTensors from_original_t5(io::LazyTensors tensors, std::vector<std::string>& skipped);
// Renames the tensors back to the original's names.
io::LazyTensors to_original_t5(io::LazyTensors tensors);

// Returns a T5's config: sizes from the shapes of its parameters, T5Config's defaults for the rest.
// Returns nullopt if a parameter that determines a size is missing.
std::optional<model::T5Config> t5_config_of(const io::LazyTensors& parameters);

}  // namespace smelt::checkpoint
