#include "checkpoint/averages.h"

namespace smelt {

bool put_averages_in_place(TensorMap& tensors) {
  const std::string_view prefix = kAveragePrefix;
  bool found = false;
  for (const auto& [name, view] : TensorMap(tensors)) {
    if (!name.starts_with(prefix)) continue;
    tensors[name.substr(prefix.size())] = view;
    found = true;
  }
  return found;
}

bool is_beside_weights(std::string_view name) {
  return name.starts_with(kAveragePrefix) || name.starts_with(kRunPrefix);
}

}  // namespace smelt
