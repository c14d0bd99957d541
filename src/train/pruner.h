// What sets weights of a run to 0 between its steps (model/optim/pruning.h).
#pragma once

#include <memory>

#include "execution/train_state/compiled_step.h"
#include "model/optim/pruning.h"

namespace smelt {

class Pruner {
 public:
  // Of the run's training program.
  Pruner(std::shared_ptr<const Client> client, const StepProgram& training, const Pruning& pruning,
         MemoryAdvice advice);

  // After so many steps: those after which weights became 0 last, or are to by now.
  std::optional<std::int64_t> due(std::int64_t steps_done) const {
    if (pruning_.by == PruneBy::soft && !is_pruned_at(pruning_.schedule, steps_done))
      return std::nullopt;  // scores have moved on since
    return last_pruning(pruning_.schedule, steps_done);
  }
  // As after so many steps; `late`: more were done since. What it does late to a state that it was
  // done to in time is nothing, so a run may be cut and go on on either side of it: what tied with
  // the last that stayed has stayed, too, and ties no more.
  void prune(std::int64_t steps_done, bool late, ModelState& state) const;

 private:
  // The program's first argument.
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
