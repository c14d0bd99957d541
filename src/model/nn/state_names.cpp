#include "model/nn/state_names.h"

namespace smelt {

bool is_beside_weights(std::string_view name) {
  return name.starts_with(kAveragePrefix) || name.starts_with(kRunPrefix);
}

}  // namespace smelt
