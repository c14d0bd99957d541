// Weights that become 0 while a model learns: more of them as it goes on (Zhu & Gupta 2017,
// arXiv 1710.01878), by size or movement in all matrices of its layers taken together; or at once
// in a pattern of neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/optim/nm_pattern.h"
#include "model/optim/optimizer.h"

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
// The last such step that is not after `step`.
std::optional<std::int64_t> last_pruning(const PruningSchedule& schedule, std::int64_t step);
// sparsity (1 - (1 - p)^3), p the share of the way from `begin` to `end`.
double sparsity_at(const PruningSchedule& schedule, std::int64_t step);

// What chooses the weights that stay: how large they are, or how far what they learned has taken
// them from 0 (Sanh et al. 2020, arXiv 2005.07683: -sum of dL/dw w over the steps; there a rate and
// Adam weigh the sum, and what has become 0 may come back); or a score that learns
// (soft_pruning.h), where the schedule's share is the threshold's.
enum class PruneBy : std::uint8_t { magnitude, movement, soft };

struct Pruning {
  PruningSchedule schedule = {};
  PruneBy by = PruneBy::magnitude;
  std::optional<NmPattern> nm = {};  // in the place of a share of all

  bool any() const { return schedule.sparsity > 0; }
};
Pruning prune_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity, PruneBy by);
// Before the first step.
Pruning prune_in_pattern(const NmPattern& nm);

// How many of n values stay where such a share of them becomes 0: n (1 - sparsity) to the nearest,
// of two the even one, at least 1; TensorFlow Model Optimization's rule (pruning_impl.py).
std::uint64_t kept_of(std::uint64_t n, double sparsity);

// Whether it is a matrix of attention or feed-forward in a layer: `one` are its dimensions, or
// those of one layer's where it is stacked.
bool is_prunable(std::string_view parameter, const Dims& one);

// The same optimizer, but that what is 0 of such a matrix stays 0.
Optimizer keeping_zeros(Optimizer optimizer);
// With a slot of each such matrix besides, the last of its slots, for what movement has added up.
Optimizer counting_movement(Optimizer optimizer);
inline constexpr const char* kMovement = "movement";

}  // namespace smelt
