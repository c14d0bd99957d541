// What a run keeps in its checkpoints beside weights and their slots, by the beginning of its name.
#pragma once

#include <string>
#include <string_view>

#include "format/safetensors.h"

namespace smelt {

// "ema/bert/pooler/dense/bias": the moving average of "bert/pooler/dense/bias".
inline constexpr const char* kAveragePrefix = "ema/";
// What the run itself remembers.
inline constexpr const char* kRunPrefix = "run/";

// The averages under their parameters' names; empty where the tensors hold none.
TensorMap averages_in(const TensorMap& tensors);
// With the averages, if there are any, in place of the weights.
TensorMap with_averages(TensorMap tensors);
// Whether it is an average or what the run remembers.
bool is_beside_weights(std::string_view name);
// Drops all of them.
void drop_beside_weights(TensorMap& tensors);

}  // namespace smelt
