#include "checkpoint/averages.h"

namespace smelt {

TensorMap averages_in(const TensorMap& tensors) {
  TensorMap out;
  const std::string_view prefix = kAveragePrefix;
  for (const auto& [name, view] : tensors)
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

void drop_beside_weights(TensorMap& tensors) {
  std::erase_if(tensors, [](const auto& item) {
    return item.first.starts_with(kAveragePrefix) || item.first.starts_with(kRunPrefix);
  });
}

}  // namespace smelt
