#include "runs/probe.h"

#include <cmath>

#include "base/error.h"
#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt {
namespace {

// Replaces each parameter by its gradient.
model::Optimizer gradient_instead() {
  model::Optimizer out;
  out.slots = [](const model::Parameter&) { return std::vector<model::Slot>(); };
  out.update = [](const model::OptimizerStep&, const model::Parameter&,
                  std::span<const compiler::Tensor>, compiler::Tensor gradient) {
    return model::UpdatedParameter{.value = gradient, .slots = {}};
  };
  return out;
}

}  // namespace

StepGradients step_gradients(const std::shared_ptr<const pjrt::Client>& client,
                             const model::Task& task, model::TrainingConfig config,
                             const data::Batch& batch, const io::TensorMap& state,
                             const model::ShardingPlan& placement) {
  config.optimizer = gradient_instead();
  config.clip_norm = config.clip_value = 0;
  config.batch_size = batch.rows;
  const model::StepProgram program = model::train_program(task, config, placement);
  execution::ModelState model =
      execution::ModelState::restore(*client, program.placement, program.state, state, "golden");
  pjrt::Execution execution = execution::CompiledStep(client, program).run(batch, model, 0);
  StepGradients out{.loss = execution.results[0].back().to_host<float>()[0], .of = {}};
  model.replace(execution.results);
  out.of = values_of(model);
  return out;
}

Probe probe(const std::shared_ptr<const pjrt::Client>& client, const model::Prediction& prediction,
            const data::Batch& batch, const io::TensorMap& state) {
  const model::StepProgram program = model::predict_program(prediction, batch.rows);
  const execution::CompiledStep step(client, program);
  const execution::ModelState model =
      execution::ModelState::restore(*client, program.placement, program.state, state, "golden");
  const pjrt::Execution execution = step.run(batch, model);
  Probe out{.layout = program.state, .results = {}};
  for (const pjrt::Buffer& buffer : execution.results[0])
    out.results.push_back(buffer.to_host<float>());
  return out;
}

std::vector<compiler::Tensor> losses_and_gradients(const model::Task& task,
                                                   const model::Scope& root,
                                                   const model::Inputs& in) {
  const auto before = static_cast<std::ptrdiff_t>(root.graph().arguments().size());
  const model::Objective objective = task.objective(root, in);
  std::vector<compiler::Tensor> out{compiler::Tensor()};
  for (const model::Metric& m : objective.losses) {
    out.push_back(m.sum * model::norm_factor(m.norm, m.weight));
    const compiler::Tensor term = out.back() * m.factor;
    out[0] = out[0] ? out[0] + term : term;
  }
  const auto& all = root.graph().arguments();
  const std::vector<compiler::Tensor> parameters(all.begin() + before, all.end());
  for (const compiler::Tensor& g : compiler::grad(out[0], parameters)) out.push_back(g);
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
