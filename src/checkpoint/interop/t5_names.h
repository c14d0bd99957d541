// T5's parameters under their three names: ours, those of the original's TensorFlow checkpoints,
// and Hugging Face's. Ours are the original's, except that "block_003" is "block_3". Later versions
// of the original write "rms_norm" for "layer_norm", and "self_attention", "enc_dec_attention" and
// "dense_relu_dense" for "layer_000" to "layer_002"; these names are read, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/storage/parameter_names.h"
#include "io/formats/lazy_tensor.h"
#include "model/models/t5_config.h"

namespace smelt {

// All parameters of a model, with the head of words where that is not tied to the embeddings.
std::vector<ParameterName> t5_names(const T5Config& config);

// Returns the tensors of a T5's TensorFlow checkpoint by our names, and those of other models as
// they are. Leaves out the slots of the original's Adafactor ("…/q_slot_vr"); `skipped` gets a line
// with their number.
LazyTensors from_original_t5(LazyTensors tensors, std::vector<std::string>& skipped);
// The way back.
LazyTensors to_original_t5(LazyTensors tensors);

// Returns the sizes that the shapes of a T5's parameters show, with T5Config's defaults for the
// rest; nullopt if a parameter that shows them is missing.
std::optional<T5Config> t5_config_of(const LazyTensors& parameters);

}  // namespace smelt
