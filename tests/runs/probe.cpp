#include "runs/probe.h"

#include <cmath>

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt {
namespace {

// Makes each parameter its gradient.
Optimizer gradient_instead() {
  Optimizer out;
  out.slots = [](const Parameter&) { return std::vector<Slot>(); };
  out.update = [](const OptimizerStep&, const Parameter&, std::span<const Tensor>,
                  Tensor gradient) { return UpdatedParameter{.value = gradient, .slots = {}}; };
  return out;
}

}  // namespace

StepGradients step_gradients(const std::shared_ptr<const Client>& client, const Task& task,
                             TrainingConfig config, const Batch& batch, const TensorMap& state,
                             const ShardingPlan& placement) {
  config.optimizer = gradient_instead();
  config.clip_norm = config.clip_value = 0;
  config.batch_size = batch.rows;
  const StepProgram program = train_program(task, config, placement);
  ModelState model =
      ModelState::restore(*client, program.placement, program.state, state, "golden");
  Execution execution = CompiledStep(client, program).run(batch, model, 0);
  StepGradients out{.loss = execution.results[0].back().to_host<float>()[0], .of = {}};
  model.replace(execution.results);
  out.of = values_of(model);
  return out;
}

Probe probe(const std::shared_ptr<const Client>& client, const Prediction& prediction,
            const Batch& batch, const TensorMap& state) {
  const StepProgram program = predict_program(prediction, batch.rows);
  const CompiledStep step(client, program);
  const ModelState model =
      ModelState::restore(*client, program.placement, program.state, state, "golden");
  const Execution execution = step.run(batch, model);
  Probe out{.layout = program.state, .results = {}};
  for (const Buffer& buffer : execution.results[0]) out.results.push_back(buffer.to_host<float>());
  return out;
}

std::vector<Tensor> losses_and_gradients(const Task& task, const Scope& root, const Inputs& in) {
  const auto before = static_cast<std::ptrdiff_t>(root.graph().arguments().size());
  const Objective objective = task.objective(root, in);
  std::vector<Tensor> out{Tensor()};
  for (const Metric& m : objective.losses) {
    out.push_back(m.sum * norm_factor(m.norm, m.weight));
    const Tensor term = out.back() * m.factor;
    out[0] = out[0] ? out[0] + term : term;
  }
  const auto& all = root.graph().arguments();
  const std::vector<Tensor> parameters(all.begin() + before, all.end());
  for (const Tensor& g : grad(out[0], parameters)) out.push_back(g);
  return out;
}

std::pair<double, double> distance(const std::vector<float>& a, const std::vector<float>& b) {
  CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    size += b[i] * static_cast<double>(b[i]);
  }
  return {std::sqrt(difference), std::sqrt(size)};
}

}  // namespace smelt
