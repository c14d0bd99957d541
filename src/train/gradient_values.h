// The gradients of a step, for who looks at them.
#pragma once

#include <cstdint>
#include <memory>

#include "execution/train_state/compiled_step.h"
#include "train/trainer.h"

namespace smelt {

class GradientValues {
 public:
  // Compiles the job's step with the gradients in the place of its update.
  GradientValues(std::shared_ptr<const Client> client, const TrainJob& job,
                 std::shared_ptr<const ModelState> held = {});
  // As the optimizer gets them, clipped, by the names of the parameters; of a parameter that no
  // loss depends on, or that is frozen, its value. `argument` is the step as programs take it. The
  // state stays as it is.
  HostState of(const Batch& batch, const ModelState& state, std::int64_t argument) const;

 private:
  StepProgram program_;
  std::shared_ptr<const Client> client_;
  CompiledStep compiled_;
};

}  // namespace smelt
