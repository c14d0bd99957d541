// What a program that a test makes of a model gives for one batch, and how far it is from facts.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "data/input_pipeline/batch.h"
#include "execution/train_state/compiled_step.h"
#include "model/tasks/task.h"
#include "runs/state_values.h"

namespace smelt {

// Of one implementation in f32 to another, relative.
constexpr double kGradientTolerance = 1e-4;
constexpr double kLossTolerance = 1e-5;
// Of products in bf16, whose factors are off by up to 2^-9 each, to those in f32: sums over all
// tokens, of a query's bias above all, lose most of what is added up.
constexpr double kNarrowGradientTolerance = 0x1p-3;

struct Probe {
  model::StateLayout layout;
  std::vector<std::vector<float>> results;
};

Probe probe(const std::shared_ptr<const pjrt::Client>& client, const model::Prediction& prediction,
            const data::Batch& batch, const io::TensorMap& state);

// The objective's figures: the loss, each loss, then the gradient of the loss by each parameter, in
// order of declaration.
std::vector<compiler::Tensor> losses_and_gradients(const model::Task& task,
                                                   const model::Scope& root,
                                                   const model::Inputs& in);

// The loss of a training step that does not clip, and its gradient of each parameter by its name;
// one that the loss does not depend on comes with its value. `state` holds parameters.
struct StepGradients {
  double loss = 0;
  StateValues of;
};
StepGradients step_gradients(const std::shared_ptr<const pjrt::Client>& client,
                             const model::Task& task, model::TrainingConfig config,
                             const data::Batch& batch, const io::TensorMap& state,
                             const model::ShardingPlan& placement =
                                 model::placement_for("cpu", 1, model::Reduction::global));

// sqrt(sum (a-b)^2), sqrt(sum b^2)
std::pair<double, double> distance(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace smelt
