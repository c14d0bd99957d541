// First values of a state's tensors, made on the host: a pure function of the seed and the name.
#pragma once

#include <cstdint>
#include <span>

#include "model/train_step/state_layout.h"

namespace smelt {

// Fills `values` with the row-major values of the tensor's shape.
void draw_initial(const StateTensor& tensor, std::uint64_t seed, std::span<float> values);

}  // namespace smelt
