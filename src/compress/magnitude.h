// Magnitude pruning of single weights (Zhu & Gupta 2017; Han et al. 2015).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/optim/nm_pattern.h"

namespace smelt::compress {

// The threshold that keeps the weights with the largest magnitudes over several matrices. Keeps all
// weights with a magnitude above `least` and, in matrix i, the first of_equal[i] weights equal to
// it.
struct MagnitudeThreshold {
  float least = 0;
  std::vector<std::uint64_t> of_equal;
  std::vector<std::uint64_t> not_zero;  // weights kept in each matrix, without zeros
};
// Calls `take` with the values of each matrix, in the same order on every call. All values must be
// finite.
using EachMatrix = std::function<void(const std::function<void(std::span<const float>)>& take)>;
// Returns the threshold that keeps exactly `kept` weights; among equal magnitudes the first ones.
// Reads the matrices three times, one at a time.
MagnitudeThreshold magnitude_cut(const EachMatrix& matrices, std::uint64_t kept);

// Sets to 0 all values of a matrix except those with a magnitude above `least` and the first
// `of_equal` ones equal to it.
void keep_largest(std::span<float> values, float least, std::uint64_t of_equal);

// Keeps the nm.kept values with the largest magnitudes in each group of nm.of neighbors (among
// equal ones the first) and sets the others to 0. The number of values must be a multiple of nm.of.
void keep_n_of_m(std::span<float> values, const model::NmPattern& nm);

}  // namespace smelt::compress
