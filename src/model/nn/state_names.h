// What a run keeps in its checkpoints beside weights and their slots, by the beginning of its name.
#pragma once

#include <string>
#include <string_view>

namespace smelt {

// "ema/bert/pooler/dense/bias": the moving average of "bert/pooler/dense/bias".
inline constexpr const char* kAveragePrefix = "ema/";
// What the run itself remembers.
inline constexpr const char* kRunPrefix = "run/";

// Puts the averages in the place of their parameters; false where the tensors, a TensorMap or
// SlicedTensors, hold none.
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
// Whether it is an average or what the run remembers.
bool is_beside_weights(std::string_view name);

}  // namespace smelt
