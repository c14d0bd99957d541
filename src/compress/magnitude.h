// Which weights stay by how large they are (Zhu & Gupta 2017; Han et al. 2015).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/optim/nm_pattern.h"

namespace smelt {

// The largest values of several matrices, all of them taken together: those above `least` by size,
// and of those equal to it the first so many of each matrix.
struct MagnitudeCut {
  float least = 0;
  std::vector<std::uint64_t> of_equal;
  std::vector<std::uint64_t> not_zero;  // values that stay, but for zeros among them
};
// Hands out each matrix's values, all of them finite, the same in each call.
using EachMatrix = std::function<void(const std::function<void(std::span<const float>)>& take)>;
// Exactly `kept` stay, of equal ones the first. Matrices are read three times, one at a time.
MagnitudeCut magnitude_cut(const EachMatrix& matrices, std::uint64_t kept);

// The other values of a matrix become 0.
void keep_largest(std::span<float> values, float least, std::uint64_t of_equal);

// Of each group of neighbours the largest values by size stay, of equal ones the first; the others
// become 0. The groups fit into the values.
void keep_n_of_m(std::span<float> values, const NmPattern& nm);

}  // namespace smelt
