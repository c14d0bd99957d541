#include "model/optim/pruning_options.h"

#include <utility>

#include "model/optim/soft_pruning.h"

namespace smelt::model {

Pruning make_pruning(const PruningOptions& options, std::int64_t steps, std::int64_t warmup_steps) {
  if (!options.nm.empty()) return prune_in_pattern(parse_nm(options.nm, "train.pruning.nm"));
  if (options.method == PruneBy::soft) return prune_softly(steps, warmup_steps);
  if (options.sparsity == 0) return {};
  return prune_over(steps, warmup_steps, options.sparsity, options.method);
}

Optimizer with_pruning(Optimizer optimizer, const PruningOptions& options, const Pruning& pruning) {
  if (pruning.any()) optimizer = keeping_zeros(std::move(optimizer));
  if (pruning.by == PruneBy::movement) optimizer = counting_movement(std::move(optimizer));
  if (pruning.by == PruneBy::soft)
    optimizer = learning_scores(std::move(optimizer),
                                {options.penalty, options.score_learning_rate}, pruning.schedule);
  return optimizer;
}

}  // namespace smelt::model
