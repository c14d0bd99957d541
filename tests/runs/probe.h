// Runs a program that a test builds from a model on one batch, and measures the distance of its
// results to reference values.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "data/input_pipeline/batch.h"
#include "execution/train_state/compiled_step.h"
#include "model/tasks/task.h"
#include "runs/state_values.h"

namespace smelt {

// Relative tolerances between two implementations in f32.
constexpr double kGradientTolerance = 1e-4;
constexpr double kLossTolerance = 1e-5;
// Relative tolerance between matmuls in bf16, whose factors have errors of up to 2^-9, and matmuls
// in f32. Sums over all tokens, most of all the gradient of a query's bias, lose digits by
// cancellation.
constexpr double kNarrowGradientTolerance = 0x1p-3;

struct Probe {
  model::StateLayout layout;
  std::vector<std::vector<float>> results;
};

Probe probe(const std::shared_ptr<const pjrt::Client>& client, const model::Prediction& prediction,
            const data::Batch& batch, const io::TensorMap& state);

// Returns the total loss, each single loss, and the gradients of the total loss with respect to the
// parameters, in order of declaration.
std::vector<compiler::Tensor> losses_and_gradients(const model::Task& task,
                                                   const model::Scope& root,
                                                   const model::Inputs& in);

// The loss of a training step without clipping, and its gradients by the names of the parameters. A
// parameter that the loss does not depend on has its value instead. `state` contains parameters.
struct StepGradients {
  double loss = 0;
  StateValues of;
};
StepGradients step_gradients(const std::shared_ptr<const pjrt::Client>& client,
                             const model::Task& task, model::TrainingConfig config,
                             const data::Batch& batch, const io::TensorMap& state,
                             const model::ShardingPlan& placement =
                                 model::placement_for("cpu", 1, model::Reduction::global));

// Returns {sqrt(sum (a-b)^2), sqrt(sum b^2)}.
std::pair<double, double> distance(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace smelt
