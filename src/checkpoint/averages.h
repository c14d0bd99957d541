// What a run keeps in its checkpoints beside weights and their slots, by the beginning of its name.
#pragma once

#include <string>

#include "format/safetensors.h"

namespace smelt {

// "ema/bert/pooler/dense/bias": the moving average of "bert/pooler/dense/bias".
inline constexpr const char* kAveragePrefix = "ema/";
// What the run itself remembers.
inline constexpr const char* kRunPrefix = "run/";

// The averages under their parameters' names; empty where the tensors hold none.
TensorMap averages_in(const TensorMap& tensors);
// Drops averages and what the run remembers.
void drop_beside_weights(TensorMap& tensors);

}  // namespace smelt
