#include "runs/probe.h"

#include <cmath>

#include "base/error.h"
#include "grad/grad.h"
#include "ops/ops.h"

namespace smelt {

Probe probe(const std::shared_ptr<const Client>& client, const Prediction& prediction,
            const Batch& batch, const TensorMap& state, const Compute& compute) {
  const StepProgram program = predict_program(prediction, batch.rows, compute);
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
  for (const Measure& m : objective.losses) {
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
