// The gradients of a step, for histograms.
#pragma once

#include <cstdint>
#include <memory>

#include "execution/train_state/compiled_step.h"
#include "train/trainer.h"

namespace smelt::train {

class GradientValues {
 public:
  // Compiles the job's step with an optimizer that returns the gradients. `held` are the values of
  // a frozen model that are already on the devices.
  GradientValues(std::shared_ptr<const pjrt::Client> client, const TrainJob& job,
                 std::shared_ptr<const execution::ModelState> held = {});
  // Returns the clipped gradients by parameter name. For a parameter that is frozen, or on which
  // the loss does not depend, returns the parameter's value. `argument` is the step number for the
  // program. Does not change the state.
  execution::HostState of(const data::Batch& batch, const execution::ModelState& state,
                          std::int64_t argument) const;

 private:
  model::StepProgram program_;
  std::shared_ptr<const pjrt::Client> client_;
  execution::CompiledStep compiled_;
};

}  // namespace smelt::train
