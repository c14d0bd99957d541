// Weights that become 0 while a model learns, more of them as it goes on (Zhu & Gupta 2017,
// arXiv 1710.01878), by size in all matrices of its layers taken together.
#pragma once

#include <cstdint>
#include <string_view>

#include "optim/optimizer.h"

namespace smelt {

// At steps done: every so many from `begin` to `end`, which is one of them.
struct PruningSchedule {
  double sparsity = 0;  // the share of weights that is 0 at the end; 0: none are pruned
  std::int64_t begin = 0, end = 0, every = 1;
};
// From the warm-up's end over four fifths of all steps, every 100 or, where that is less, every
// twentieth part of them.
PruningSchedule pruning_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity);
bool is_pruned_at(const PruningSchedule& schedule, std::int64_t step);
// sparsity (1 - (1 - p)^3), p the share of the way from `begin` to `end`.
double sparsity_at(const PruningSchedule& schedule, std::int64_t step);

// How many of n values stay where such a share of them becomes 0: n (1 - sparsity) to the nearest,
// of two the even one, at least 1; TensorFlow Model Optimization's rule (pruning_impl.py).
std::uint64_t kept_of(std::uint64_t n, double sparsity);

// Whether it is a matrix of attention or feed-forward in a layer: `one` are its dimensions, or
// those of one layer's where it is stacked.
bool is_prunable(std::string_view parameter, const Dims& one);

// The same optimizer, but that what is 0 of such a matrix stays 0.
Optimizer keeping_zeros(Optimizer optimizer);

}  // namespace smelt
