// What sets weights of a run to 0 between its steps (optim/pruning.h).
#pragma once

#include <memory>

#include "optim/pruning.h"
#include "state/compiled_step.h"

namespace smelt {

class Pruner {
 public:
  // Of the run's training program.
  Pruner(std::shared_ptr<const Client> client, const StepProgram& training, const Pruning& pruning,
         MemoryAdvice advice);

  // Before the step that follows so many: whether weights are to become 0 that this did not set to
  // 0 yet. So a run that goes on has what was due before it was cut, or is due by a new schedule.
  bool is_due(std::int64_t steps_done) const {
    return last_pruning(pruning_.schedule, steps_done) != pruned_at_;
  }
  // What it does to a state that it was done to already is nothing.
  void prune(std::int64_t steps_done, ModelState& state);

 private:
  std::shared_ptr<const Client> client_;
  Pruning pruning_;
  MemoryAdvice advice_;
  Placement placement_;
  StateLayout state_;
  std::uint64_t weights_;
  Executable executable_;
  std::optional<std::int64_t> pruned_at_;
};

}  // namespace smelt
