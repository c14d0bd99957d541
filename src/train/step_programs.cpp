#include "train/step_programs.h"

#include "base/log.h"
#include "train/job_program.h"

namespace smelt::train {
namespace {

// Returns the sequence length of a batch from its first array; 0 for a task without lengths.
std::int64_t length_of(const compiler::Shape& first) {
  return first.dims.size() < 2 ? 0 : first.dims[1];
}

}  // namespace

StepPrograms::StepPrograms(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
                           const model::StepProgram& program,
                           const std::optional<data::PackingPlan>& packing,
                           const execution::MemoryAdvice& advice)
    : steps_(std::make_unique<Unpacked>()) {
  if (packing) {
    TrainJob packed = job;
    packed.task = model::packed_task(job.task, packing->slots());
    packed_.emplace(client, program_of(packed, client->platform_name(), model::train_program),
                    advice);
    steps_->compile = [client, &program, advice] {
      return execution::CompiledStep(client, program, advice);
    };
    if (!packing->all_fit) (void)step_of(packing->length);
    return;
  }
  const compiler::Dims& row = program.features.front().row;
  auto& steps = steps_->by_length;
  const auto first =
      steps.try_emplace(row.empty() ? 0 : row.front(), client, program, advice).first;
  const std::shared_ptr<const execution::ModelState> held = first->second.held();
  for (const std::int64_t length : job.task.lengths) {
    if (length == job.task.lengths.back()) break;
    TrainJob shorter = job;
    shorter.task = model::with_length(job.task, length);
    steps.try_emplace(length, client,
                      program_of(shorter, client->platform_name(), model::train_program), advice,
                      held);
  }
}

const execution::CompiledStep& StepPrograms::step_of(std::int64_t length) const {
  auto& steps = steps_->by_length;
  if (steps.empty()) {
    log_info("train: compiling the step without packing, for batches that do not fit");
    steps.emplace(length, steps_->compile());
  }
  const auto found = steps.find(length);
  CHECK(found != steps.end(), length);
  return found->second;
}

pjrt::Execution StepPrograms::run(const data::Batch& batch, const execution::ModelState& state,
                                  std::int64_t argument,
                                  const model::ConsensusFlags& wishes) const {
  if (packed_ && batch.packed) return packed_->run(*batch.packed, state, argument, wishes);
  return step_of(length_of(batch.arrays.front().shape)).run(batch, state, argument, wishes);
}

data::Batch padded_to_longest(const model::Task& task, const data::Batch& batch) {
  if (task.lengths.size() < 2) return batch;
  io::Features features = task.features;
  const std::int64_t longest = task.lengths.back();
  return data::with_length(batch, features, longest, longest);
}

}  // namespace smelt::train
