#include "train/gradient_values.h"

#include "train/job_program.h"

namespace smelt {
namespace {

// Returns an optimizer whose new parameter values are the gradients.
Optimizer no_optimizer() {
  Optimizer out;
  out.slots = [](const Parameter&) { return std::vector<Slot>(); };
  out.update = [](const OptimizerStep&, const Parameter&, std::span<const Tensor>,
                  Tensor gradient) { return UpdatedParameter{.value = gradient, .slots = {}}; };
  return out;
}

StepProgram program_for(const TrainJob& job, std::string_view platform) {
  TrainJob changed = job;
  changed.config.optimizer = no_optimizer();
  changed.config.ema_decay = 0;
  changed.config.spikes = {};
  StepProgram out = training_program(changed, platform);
  out.program.donated_by.clear();  // the state is needed afterwards
  return out;
}

}  // namespace

GradientValues::GradientValues(std::shared_ptr<const Client> client, const TrainJob& job,
                               std::shared_ptr<const ModelState> held)
    : program_(program_for(job, client->platform_name())),
      client_(std::move(client)),
      compiled_(client_, program_,
                advice_for_training("train: the gradients of a step", job.fields),
                std::move(held)) {}

HostState GradientValues::of(const Batch& batch, const ModelState& state,
                             std::int64_t argument) const {
  Execution execution = compiled_.run(batch, state, argument);
  return ModelState::of_results(*client_, program_.placement, program_.state, execution.results)
      .download();
}

}  // namespace smelt
