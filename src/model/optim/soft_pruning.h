// Soft movement pruning (Sanh et al. 2020, arXiv 2005.07683, section 4;
// huggingface/block_movement_pruning). Each weight has a learned score S, initially 0, which Adam
// updates with dL/dS = dL/dw w + penalty sigmoid'(S) / n, where n is the size of the matrix. A
// weight is set to 0 if sigmoid(S) is below a threshold. Threshold and penalty grow like the
// sparsity of a PruningSchedule. Differences from the original: the penalty is per matrix instead
// of a mean over all matrices, and pruned weights stay 0.
#pragma once

#include "model/optim/pruning.h"

namespace smelt::model {

// Settings of soft movement pruning.
struct SoftPruning {
  double penalty = 5;
  double rate = 1e-2;
};
inline constexpr double kSoftThreshold = 0.1;  // final threshold
// Minimum share of weights that are kept.
inline constexpr double kSoftKeeps = 0.005;

// Returns soft movement pruning for a run of `steps` steps. The sparsity of its schedule is the
// threshold.
Pruning prune_softly(std::int64_t steps, std::int64_t warmup_steps);

// Returns the optimizer with additional slots for each prunable matrix, after its own: the scores
// and their two Adam slots.
Optimizer learning_scores(Optimizer optimizer, const SoftPruning& soft,
                          const PruningSchedule& schedule);
inline constexpr const char* kSoftScore = "score";

// Returns the pruning threshold after `step` steps as a score S: weights with smaller scores are
// pruned.
float least_score(const PruningSchedule& schedule, std::int64_t step);

}  // namespace smelt::model
