// Pruning of a run's weights between its steps (model/optim/pruning.h).
#pragma once

#include <memory>

#include "execution/train_state/compiled_step.h"
#include "model/optim/pruning.h"

namespace smelt {

class Pruner {
 public:
  // Compiles the pruning program that belongs to the training program.
  Pruner(std::shared_ptr<const Client> client, const StepProgram& training, const Pruning& pruning,
         MemoryAdvice advice);

  // Returns the step up to which the state must be pruned after `steps_done` steps: the last
  // pruning step of the schedule, or nullopt before the first.
  std::optional<std::int64_t> due(std::int64_t steps_done) const {
    if (pruning_.by == PruneBy::soft && !is_pruned_at(pruning_.schedule, steps_done))
      return std::nullopt;  // the scores have changed since
    return last_pruning(pruning_.schedule, steps_done);
  }
  // Prunes the weights to the sparsity after `steps_done` steps. `late`: more steps were made
  // since. Late pruning does not change a state that was pruned in time, so that a run may be
  // interrupted before or after pruning: weights that tied with the smallest remaining one are
  // still nonzero, and no longer tie.
  void prune(std::int64_t steps_done, bool late, ModelState& state) const;

 private:
  // Returns the program's first argument: the number of weights to keep, or a score threshold.
  std::int32_t number_at(std::int64_t steps_done, bool late) const;

  std::shared_ptr<const Client> client_;
  Pruning pruning_;
  MemoryAdvice advice_;
  ShardingPlan placement_;
  StateLayout state_;
  std::uint64_t weights_;
  Executable executable_;
};

}  // namespace smelt
