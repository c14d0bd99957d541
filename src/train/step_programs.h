// A training job's step, compiled for each length that its batches may have.
#pragma once

#include <map>
#include <memory>

#include "execution/train_state/compiled_step.h"
#include "train/trainer.h"

namespace smelt {

class StepPrograms {
 public:
  // `program` is the job's, of the longest batches.
  StepPrograms(std::shared_ptr<const Client> client, const TrainJob& job,
               const StepProgram& program, const MemoryAdvice& advice);

  // By the program of the batch's length.
  Execution run(const Batch& batch, const ModelState& state, std::int64_t argument,
                const ConsensusFlags& wishes = {}) const;
  // What they hold beside their state; null: nothing.
  std::shared_ptr<const ModelState> held() const { return steps_.begin()->second.held(); }
  // Of the longest batches.
  const Executable& executable() const { return steps_.rbegin()->second.executable(); }

 private:
  std::map<std::int64_t, CompiledStep> steps_;  // by the first row's length
};

// Batches by length are as long as the task's longest then, as programs of another kind take them.
Batch of_full_length(const Task& task, const Batch& batch);

}  // namespace smelt
