#include "train/step_programs.h"

#include "train/job_program.h"

namespace smelt {
namespace {

// Returns the sequence length of a batch from its first array; 0 for a task without lengths.
std::int64_t length_of(const Shape& first) { return first.dims.size() < 2 ? 0 : first.dims[1]; }

}  // namespace

StepPrograms::StepPrograms(std::shared_ptr<const Client> client, const TrainJob& job,
                           const StepProgram& program, const MemoryAdvice& advice) {
  const Dims& row = program.features.front().row;
  const auto first =
      steps_.try_emplace(row.empty() ? 0 : row.front(), client, program, advice).first;
  const std::shared_ptr<const ModelState> held = first->second.held();
  for (const std::int64_t length : job.task.lengths) {
    if (length == job.task.lengths.back()) break;
    TrainJob shorter = job;
    shorter.task = with_length(job.task, length);
    steps_.try_emplace(length, client, program_of(shorter, client->platform_name(), train_program),
                       advice, held);
  }
}

Execution StepPrograms::run(const Batch& batch, const ModelState& state, std::int64_t argument,
                            const ConsensusFlags& wishes) const {
  const auto found = steps_.find(length_of(batch.arrays.front().shape));
  CHECK(found != steps_.end(), batch.arrays.front().shape);
  return found->second.run(batch, state, argument, wishes);
}

Batch of_full_length(const Task& task, const Batch& batch) {
  if (task.lengths.size() < 2) return batch;
  Features features = task.features;
  const std::int64_t longest = task.lengths.back();
  return with_length(batch, features, longest, longest);
}

}  // namespace smelt
