// Pruning of a run's weights between its steps (model/optim/pruning.h).
#pragma once

#include <memory>

#include "execution/train_state/compiled_step.h"
#include "model/optim/pruning.h"

namespace smelt::train {

class Pruner {
 public:
  // Compiles the pruning program that belongs to the training program.
  Pruner(std::shared_ptr<const pjrt::Client> client, const model::StepProgram& training,
         const model::Pruning& pruning, execution::MemoryAdvice advice);

  // Returns the step up to which the state must be pruned after `steps_done` steps: the last
  // pruning step of the schedule, or nullopt before the first.
  std::optional<std::int64_t> due(std::int64_t steps_done) const {
    if (pruning_.by == model::PruneBy::soft && !model::is_pruned_at(pruning_.schedule, steps_done))
      return std::nullopt;  // cannot be done late: the scores have changed since that step
    return model::last_pruning(pruning_.schedule, steps_done);
  }
  // Prunes the weights to the sparsity of the schedule after `steps_done` steps. `late` is true if
  // the state has been trained further since that step, for example because the run was interrupted
  // before pruning. Late pruning must not change a state that was already pruned at that step. Such
  // a state can have a few extra nonzero weights, which were as large as the smallest weight to
  // keep. So late pruning keeps 1 in 100000 weights more than the schedule requires.
  void prune(std::int64_t steps_done, bool late, execution::ModelState& state) const;

 private:
  // Returns the program's first argument: the number of weights to keep, or a score threshold.
  std::int32_t number_at(std::int64_t steps_done, bool late) const;

  std::shared_ptr<const pjrt::Client> client_;
  model::Pruning pruning_;
  execution::MemoryAdvice advice_;
  model::ShardingPlan placement_;
  model::StateLayout state_;
  std::uint64_t weights_;
  pjrt::Executable executable_;
};

}  // namespace smelt::train
