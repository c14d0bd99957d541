// Which weights become 0 is learned (soft movement pruning, Sanh et al. 2020, arXiv 2005.07683,
// section 4; huggingface/block_movement_pruning): each has a score S, from 0 on, which Adam moves
// by dL/dS = dL/dw w + penalty sigmoid'(S) / n, n the weights of its matrix; where sigmoid(S) is
// not above a threshold it becomes 0. Threshold and penalty grow as a PruningSchedule's share does.
// There the penalty is of the mean over all matrices, of each here; and there what became 0 may
// come back.
#pragma once

#include "model/optim/pruning.h"

namespace smelt {

struct SoftPruning {
  double penalty = 5;
  double rate = 1e-2;
};
inline constexpr double kSoftThreshold = 0.1;  // at the end
// Of all weights at least so many stay.
inline constexpr double kSoftKeeps = 0.005;

Pruning prune_softly(std::int64_t steps, std::int64_t warmup_steps);

// The same optimizer with slots of each prunable matrix besides, behind its own: the scores, and
// Adam's two of these.
Optimizer learning_scores(Optimizer optimizer, const SoftPruning& soft,
                          const PruningSchedule& schedule);
inline constexpr const char* kSoftScore = "score";

// The least score that stays once so many steps are done.
float least_score(const PruningSchedule& schedule, std::int64_t step);

}  // namespace smelt
