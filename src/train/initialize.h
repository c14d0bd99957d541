// First values of parameters, made on the host: a pure function of the seed and the parameter's
// name.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/scope.h"

namespace smelt {

// Row-major f32 values of the parameter's shape.
std::vector<float> initial_value(const Parameter& parameter, std::uint64_t seed);

// The same for all parameters in order, by all cores.
std::vector<std::vector<float>> initial_values(const Parameters& parameters, std::uint64_t seed);

}  // namespace smelt
