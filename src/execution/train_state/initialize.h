// Initial values of a state's tensors, computed on the host as a pure function of the seed and the
// tensor's name.
#pragma once

#include <cstdint>
#include <span>

#include "model/train_step/state_layout.h"

namespace smelt::execution {

// Fills `values`, in row-major order, with the initial values of the tensor.
void draw_initial(const model::StateTensor& tensor, std::uint64_t seed, std::span<float> values);

}  // namespace smelt::execution
