// Names of checkpoint tensors other than weights and optimizer slots.
#pragma once

#include <string>
#include <string_view>

namespace smelt::model {

// "ema/bert/pooler/dense/bias": the moving average of "bert/pooler/dense/bias".
inline constexpr const char* kAveragePrefix = "ema/";
// State of the run itself.
inline constexpr const char* kRunPrefix = "run/";

// Replaces parameters by their moving averages. Returns false if the tensors (a TensorMap or
// SlicedTensors) contain no averages.
template <class Tensors>
bool put_averages_in_place(Tensors& tensors) {
  const std::string_view prefix = kAveragePrefix;
  bool found = false;
  for (const auto& [name, tensor] : Tensors(tensors)) {
    if (!name.starts_with(prefix)) continue;
    tensors[name.substr(prefix.size())] = tensor;
    found = true;
  }
  return found;
}
// Returns whether the name is that of a moving average or of run state.
inline bool is_beside_weights(std::string_view name) {
  return name.starts_with(kAveragePrefix) || name.starts_with(kRunPrefix);
}

}  // namespace smelt::model
