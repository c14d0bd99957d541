// A step that was not finite, kept whole: its batch and the state before it, which the step left as
// it was (model/train_step/step_guard.h), and run again without an update.
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

namespace smelt {

// Below a model folder, or on its own: a model folder of one checkpoint, which also holds the
// batch. docs/reference/formats/checkpoint.md
std::string bad_batch_folder(const std::string& model_dir, std::int64_t step);
// The newest; UsageError when there is none.
std::string newest_bad_batch(const std::string& model_dir);

struct BadBatch {
  std::int64_t step = 0;      // counted from 1: the state is that of the step before
  std::int64_t argument = 0;  // the step as its program took it
  Batch batch;
};
// UsageError when the checkpoint holds no batch, or not one of these features.
BadBatch bad_batch_in(const TrainedModel& model, const Features& features);

struct GradientNorm {
  std::string parameter;
  double norm = 0;
};

struct GradientReport {
  double loss = 0, norm = 0;                  // of all gradients together
  std::vector<GradientNorm> of;               // in the model's order
  std::optional<std::string> bad_value = {};  // the first tensor of the state that is not finite

  std::int64_t not_finite() const;  // gradients
  // "the first tensor that is not finite is …": of the state or, as the backward pass goes, from
  // the loss on, of the gradients.
  std::string first_not_finite() const;
};

// `program` is gradient_program()'s. The state may hold more than it takes; `held` is what the
// program holds, where another step has it on the devices already.
GradientReport gradient_report(const std::shared_ptr<const Client>& client,
                               const StepProgram& program, const BadBatch& bad,
                               const ModelState& state,
                               std::shared_ptr<const ModelState> held = {});

// What a run has at hand when a step was not finite.
struct BadStepPlace {
  std::shared_ptr<const Client> client;
  std::function<StepProgram()> program;    // gradient_program()'s, built when it is needed
  const ModelState& state;                 // as it was before the step
  std::shared_ptr<const ModelState> held;  // beside it; null: nothing
  const Json& settings;                    // of its checkpoints
};
// Writes the folder, then looks for the first tensor that is not finite. Returns what is to be
// said of both; a failure is only said, too.
std::string keep_bad_batch(const std::string& folder, const BadBatch& bad,
                           const BadStepPlace& place);

}  // namespace smelt
