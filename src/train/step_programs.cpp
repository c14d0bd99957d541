#include "train/step_programs.h"

#include "train/job_program.h"

namespace smelt::train {
namespace {

// Returns the sequence length of a batch from its first array; 0 for a task without lengths.
std::int64_t length_of(const compiler::Shape& first) {
  return first.dims.size() < 2 ? 0 : first.dims.back();
}

}  // namespace

StepPrograms::StepPrograms(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
                           const model::StepProgram& program,
                           const std::optional<data::PackingPlan>& packing,
                           const execution::MemoryAdvice& advice) {
  const compiler::Dims& row = program.features.front().row;
  const auto first =
      steps_.try_emplace(row.empty() ? 0 : row.back(), client, program, advice).first;
  const std::shared_ptr<const execution::ModelState> held = first->second.held();
  const auto compile = [&](model::Task task) {
    TrainJob other = job;
    other.task = std::move(task);
    return execution::CompiledStep(
        client, program_of(other, client->platform_name(), model::train_program), advice, held);
  };
  for (const std::int64_t length : job.task.lengths) {
    if (length == job.task.lengths.back()) break;
    steps_.emplace(length, compile(model::with_length(job.task, length)));
  }
  if (packing) packed_.emplace(compile(model::packed_task(job.task, packing->slots())));
}

pjrt::Execution StepPrograms::run(const data::Batch& batch, const execution::ModelState& state,
                                  std::int64_t argument,
                                  const model::ConsensusFlags& wishes) const {
  if (packed_ && batch.packed) return packed_->run(*batch.packed, state, argument, wishes);
  const auto found = steps_.find(length_of(batch.arrays.front().shape));
  CHECK(found != steps_.end(), batch.arrays.front().shape);
  return found->second.run(batch, state, argument, wishes);
}

data::Batch padded_to_longest(const model::Task& task, const data::Batch& batch) {
  if (task.lengths.size() < 2) return batch;
  io::Features features = task.features;
  const std::int64_t longest = task.lengths.back();
  return data::with_length(batch, features, longest, longest);
}

}  // namespace smelt::train
