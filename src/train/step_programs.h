// The step of a training job, compiled for each form of its batches.
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
  // Compiles the programs. `program` is the one for the longest batches, without packing; it must
  // outlive this object. With `packing` it is compiled only if batches that do not fit are
  // expected, else when one comes.
  StepPrograms(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
               const model::StepProgram& program, const std::optional<data::PackingPlan>& packing,
               const execution::MemoryAdvice& advice);

  // Runs the program for the length of the batch, packed if the batch is.
  pjrt::Execution run(const data::Batch& batch, const execution::ModelState& state,
                      std::int64_t argument, const model::ConsensusFlags& wishes = {}) const;
  // Returns the values of the frozen model on the devices, or null for a job without one.
  std::shared_ptr<const execution::ModelState> held() const { return main().held(); }
  // Returns the program for packed batches or, without packing, for the longest ones.
  const pjrt::Executable& executable() const { return main().executable(); }

 private:
  const execution::CompiledStep& main() const {
    return packed_ ? *packed_ : steps_->by_length.rbegin()->second;
  }
  // Returns the program for unpacked batches of this length.
  const execution::CompiledStep& step_of(std::int64_t length) const;

  // The programs for unpacked batches, by sequence length.
  struct Unpacked {
    std::map<std::int64_t, execution::CompiledStep> by_length;
    std::function<execution::CompiledStep()> compile;  // for the longest batches
  };
  std::optional<execution::CompiledStep> packed_;
  std::unique_ptr<Unpacked> steps_;
};

// Returns the batch padded to the task's longest length, for programs that are compiled for that
// length only.
data::Batch padded_to_longest(const model::Task& task, const data::Batch& batch);

}  // namespace smelt::train
