// The compiled training steps of a job: one for each sequence length, and one for packed batches.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "data/input_pipeline/pack.h"
#include "execution/train_state/compiled_step.h"
#include "train/trainer.h"

namespace smelt::train {

class StepPrograms {
 public:
  // Compiles a program for each length in Task::lengths; `program` is the one for the longest. With
  // `packing`, also compiles a program for packed batches; `program` then runs the batches whose
  // sequences do not fit into the packed rows.
  StepPrograms(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
               const model::StepProgram& program, const std::optional<data::PackingPlan>& packing,
               const execution::MemoryAdvice& advice);

  // Runs the program for packed batches if the batch is packed, else the one for its length.
  pjrt::Execution run(const data::Batch& batch, const execution::ModelState& state,
                      std::int64_t argument, const model::ConsensusFlags& wishes = {}) const;
  // Returns the values of the frozen model on the devices, or null for a job without one.
  std::shared_ptr<const execution::ModelState> held() const {
    return steps_.begin()->second.held();
  }
  // Returns the program for packed batches or, without packing, for the longest ones.
  const pjrt::Executable& executable() const {
    return packed_ ? packed_->executable() : steps_.rbegin()->second.executable();
  }

 private:
  std::map<std::int64_t, execution::CompiledStep> steps_;  // by sequence length
  std::optional<execution::CompiledStep> packed_;
};

// Returns the batch padded to the task's longest length, for programs that are compiled for that
// length only.
data::Batch padded_to_longest(const model::Task& task, const data::Batch& batch);

}  // namespace smelt::train
