// First values of a state's tensors, made on the host: a pure function of the seed and the name.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/state_layout.h"

namespace smelt {

// Row-major f32 values of the tensor's shape.
std::vector<float> initial_value(const StateTensor& tensor, std::uint64_t seed);

// The same for all in order, by all cores.
std::vector<std::vector<float>> initial_values(std::span<const StateTensor> tensors,
                                               std::uint64_t seed);

}  // namespace smelt
