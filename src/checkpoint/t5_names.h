// T5's parameters under their three names: ours, those of the original's TensorFlow checkpoints,
// and Hugging Face's. Ours are the original's but for the numbers of layers, "block_3" where it has
// "block_003", and for the norms, which its later models (T5 1.1) call "rms_norm".
#pragma once

#include <string>
#include <vector>

#include "checkpoint/parameter_names.h"
#include "format/lazy_tensor.h"
#include "models/t5_config.h"

namespace smelt {

// All parameters of a model, with the head of words where that is not tied to the embeddings.
std::vector<ParameterName> t5_names(const T5Config& config);

// Tensors of a TensorFlow checkpoint by our names; those of other models stay as they are. The
// slots of the original's Adafactor ("…/q_slot_vr") are left out, each named in `skipped`.
LazyTensors from_original_t5(LazyTensors tensors, std::vector<std::string>& skipped);
// The way back.
LazyTensors to_original_t5(LazyTensors tensors);

// The sizes that a T5's parameters have; what no shape tells has T5Config's defaults. UsageError
// beginning with `where` for parameters that are missing or do not fit each other.
T5Config t5_config_of(const LazyTensors& parameters, const std::string& where);

}  // namespace smelt
