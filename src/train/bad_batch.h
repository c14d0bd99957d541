// Diagnosis of a training step with a non-finite loss or gradient. The step left the state
// unchanged (model/train_step/step_guard.h), so its batch and state are saved, and the step is
// repeated without an update to find the first non-finite tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/resume.h"

namespace smelt::train {

// Returns the folder for the bad batch of a step in a model folder. It has the format of a model
// folder with one checkpoint, and also contains the batch (docs/reference/formats/checkpoint.md).
std::string bad_batch_folder(const std::string& model_dir, std::int64_t step);
// Returns the folder of the latest bad batch. Throws UsageError if the model folder has none.
std::string newest_bad_batch(const std::string& model_dir);

struct BadBatch {
  std::int64_t step = 0;      // of the batch, counted from 1; the saved state is from before it
  std::int64_t argument = 0;  // step number that was passed to the program
  data::Batch batch;
};
// Returns the batch of a checkpoint. Throws UsageError if it contains no batch, or one with other
// features.
BadBatch bad_batch_in(const execution::TrainedModel& model, const io::Features& features);

struct GradientNorm {
  std::string parameter;
  double norm = 0;
};

struct GradientReport {
  double loss = 0, norm = 0;                  // loss; global norm of the gradients
  std::vector<GradientNorm> of;               // norm of each gradient, in the model's order
  std::optional<std::string> bad_value = {};  // first non-finite tensor of the state, if any

  std::int64_t not_finite() const;  // number of non-finite gradients
  // Describes the first non-finite tensor: in the state or, if that is finite, in the loss and the
  // gradients in the order of the backward pass.
  std::string first_not_finite() const;
};

// Runs the step without an update and returns its loss and gradient norms. `program` is from
// gradient_program(). `state` may have more tensors than the program needs; `held` are the values
// of its frozen model if they are already on the devices.
GradientReport gradient_report(const std::shared_ptr<const pjrt::Client>& client,
                               const model::StepProgram& program, const BadBatch& bad,
                               const execution::ModelState& state,
                               std::shared_ptr<const execution::ModelState> held = {});

// The inputs for saving and repeating a bad step.
struct BadStepContext {
  std::shared_ptr<const pjrt::Client> client;
  std::function<model::StepProgram()> program;        // builds the gradient_program()
  const execution::ModelState& state;                 // state before the step
  std::shared_ptr<const execution::ModelState> held;  // values of the frozen model; null: none
  const Json& settings;                               // settings of the run's checkpoints
};
// Saves the bad batch in `folder` and searches for the first non-finite tensor. Returns text for
// the error message: the tensor and the folder. If this fails with an Error, the text describes the
// failure instead.
std::string diagnose_bad_batch(const std::string& folder, const BadBatch& bad,
                               const BadStepContext& place);

}  // namespace smelt::train
