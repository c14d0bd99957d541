// Pruning during training: the sparsity grows with time (Zhu & Gupta 2017, arXiv 1710.01878), by
// magnitude or movement over all matrices of the layers together, or N:M sparsity is applied once.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/optim/nm_pattern.h"
#include "model/optim/optimizer.h"

namespace smelt::model {

// A pruning schedule: weights are pruned every `every` steps from step `begin` to step `end`,
// inclusive.
struct PruningSchedule {
  double sparsity = 0;  // final share of weights that are 0; 0: no pruning
  std::int64_t begin = 0, end = 0, every = 1;
};
// Returns a schedule from the end of the warm-up to 4/5 of all steps, with pruning every 100 steps,
// or every steps / 20 steps if that is less.
PruningSchedule pruning_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity);
// Returns whether weights are pruned after `step` steps.
bool is_pruned_at(const PruningSchedule& schedule, std::int64_t step);
// Returns the last pruning step up to and including `step`, or nullopt if there is none.
std::optional<std::int64_t> last_pruning(const PruningSchedule& schedule, std::int64_t step);
// Returns sparsity (1 - (1 - p)^3), where p is the progress from `begin` to `end`.
double sparsity_at(const PruningSchedule& schedule, std::int64_t step);

// How weights are ranked for pruning. The weights with the smallest values are pruned.
// magnitude: the absolute value. movement: how far training moved the weight away from 0, the sum
// over steps of -dL/dw w (Sanh et al. 2020, arXiv 2005.07683). Unlike in the paper, the terms are
// not multiplied by the learning rate or scaled by Adam, and weights that are 0 stay 0. soft: a
// learned score (soft_pruning.h); the schedule then gives the threshold of the score, not the
// sparsity.
enum class PruneBy : std::uint8_t { magnitude, movement, soft };

// How a run prunes.
struct Pruning {
  PruningSchedule schedule = {};
  PruneBy by = PruneBy::magnitude;
  std::optional<NmPattern> nm = {};  // N:M sparsity instead of a share of all weights

  bool any() const { return schedule.sparsity > 0; }
};
// Returns gradual pruning with the schedule pruning_over(steps, warmup_steps, sparsity).
Pruning prune_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity, PruneBy by);
// Returns N:M pruning, which is applied once, before the first step.
Pruning prune_in_pattern(const NmPattern& nm);

// Returns how many of n values are kept at this sparsity: n (1 - sparsity), rounded half to even,
// at least 1. Same rule as TensorFlow Model Optimization (pruning_impl.py).
std::uint64_t kept_of(std::uint64_t n, double sparsity);

// Returns whether the parameter is an attention or feed-forward matrix of a layer. `one` are its
// dimensions, or those of one layer if stacked.
bool is_prunable(std::string_view parameter, const compiler::Dims& one);

// Returns the optimizer with a modified update: elements of prunable matrices that are 0 stay 0.
Optimizer keeping_zeros(Optimizer optimizer);
// Returns the optimizer with an additional slot for each prunable matrix, after its own slots. The
// slot accumulates the movement of each weight (PruneBy::movement).
Optimizer counting_movement(Optimizer optimizer);
inline constexpr const char* kMovement = "movement";

}  // namespace smelt::model
