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

// Puts the averages in the place of their parameters; false where the tensors hold none.
bool put_averages_in_place(TensorMap& tensors);
// Whether it is an average or what the run remembers.
bool is_beside_weights(std::string_view name);

}  // namespace smelt
