#include "checkpoint/averages.h"

namespace smelt {

TensorMap averages_in(const TensorMap& tensors) {
  TensorMap out;
  const std::string_view prefix = kAveragePrefix;
  for (const auto& [name, view] : tensors)
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

TensorMap with_averages(TensorMap tensors) {
  for (const auto& [name, view] : averages_in(tensors)) tensors[name] = view;
  return tensors;
}

bool is_beside_weights(std::string_view name) {
  return name.starts_with(kAveragePrefix) || name.starts_with(kRunPrefix);
}

void drop_beside_weights(TensorMap& tensors) {
  std::erase_if(tensors, [](const auto& item) { return is_beside_weights(item.first); });
}

}  // namespace smelt
