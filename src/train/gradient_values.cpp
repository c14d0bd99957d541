#include "train/gradient_values.h"

#include "train/job_program.h"

namespace smelt::train {
namespace {

// Returns an optimizer whose new parameter values are the gradients.
model::Optimizer no_optimizer() {
  model::Optimizer out;
  out.slots = [](const model::Parameter&) { return std::vector<model::Slot>(); };
  out.update = [](const model::OptimizerStep&, const model::Parameter&,
                  std::span<const compiler::Tensor>, compiler::Tensor gradient) {
    return model::UpdatedParameter{.value = gradient, .slots = {}};
  };
  return out;
}

model::StepProgram program_for(const TrainJob& job, std::string_view platform) {
  TrainJob changed = job;
  changed.config.optimizer = no_optimizer();
  changed.config.ema_decay = 0;
  changed.config.spikes = {};
  model::StepProgram out = training_program(changed, platform);
  out.program.donated_by.clear();  // the state is needed afterwards
  return out;
}

}  // namespace

GradientValues::GradientValues(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
                               std::shared_ptr<const execution::ModelState> held)
    : program_(program_for(job, client->platform_name())),
      client_(std::move(client)),
      compiled_(client_, program_,
                execution::advice_for_training("train: the gradients of a step", job.fields),
                std::move(held)) {}

execution::HostState GradientValues::of(const data::Batch& batch,
                                        const execution::ModelState& state,
                                        std::int64_t argument) const {
  pjrt::Execution execution = compiled_.run(batch, state, argument);
  return execution::ModelState::of_results(*client_, program_.placement, program_.state,
                                           execution.results)
      .download();
}

}  // namespace smelt::train
