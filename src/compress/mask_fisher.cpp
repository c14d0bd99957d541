#include "compress/mask_fisher.h"

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "grad/grad.h"
#include "ops/ops.h"
#include "runtime/client.h"
#include "state/compiled_step.h"
#include "state/model_state.h"

namespace smelt {
namespace {

Tensor loss_of(const Objective& objective) {
  Tensor loss;
  for (const Measure& m : objective.losses) {
    const Tensor part = m.sum * norm_factor(m.norm, m.weight) * m.factor;
    loss = loss ? loss + part : part;
  }
  return loss;
}

MemoryAdvice advice_to_prune() { return {"compress: the gradients of a batch", "lower --batch"}; }

}  // namespace

Prediction mask_gradients(const Task& task, const std::vector<MaskedProduct>& products) {
  Prediction out;
  out.features = task.features;
  out.outputs = [task, products](const Scope& root, const Inputs& inputs) {
    const Tensor loss = loss_of(task.objective(root, inputs));
    std::vector<Tensor> kernels, sums;
    for (const MaskedProduct& product : products) kernels.push_back(root.shared(product.parameter));
    const auto gradients = grad(loss, kernels);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const Tensor along = reduce_sum(kernels[i] * gradients[i], {1});
      const std::int64_t units = products[i].units;
      sums.push_back(reduce_sum(reshape(along, {units, along.dim(0) / units}), {1}));
    }
    return sums;
  };
  return out;
}

std::vector<std::vector<double>> mask_fisher(const FisherJob& job, const ExampleSource& examples,
                                             const TensorMap& weights) {
  const auto there = std::min(job.examples, static_cast<std::int64_t>(examples.epoch_size()));
  const std::int64_t rows = std::min(job.batch_size, there);
  CHECK(rows > 0, there);
  const auto client = open_device(job.device, 1);
  const StepProgram program = predict_program(mask_gradients(job.task, job.products), rows);
  const CompiledStep step(client, program, advice_to_prune());
  const ModelState state =
      ModelState::restore(*client, program.placement, program.state, weights, job.where);
  std::vector<std::vector<double>> out;
  for (const MaskedProduct& product : job.products)
    out.emplace_back(static_cast<std::size_t>(product.units));
  const std::int64_t batches = there / rows;
  Progress progress("compress", batches, "batches");
  for (std::int64_t b = 0; b < batches; ++b) {
    fitting(advice_to_prune(), [&] {
      Execution run = step.run(examples.batch(static_cast<std::uint64_t>(b), rows), state);
      run.await();
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto gradient = run.results[0][i].to_host<float>();
        for (std::size_t unit = 0; unit < gradient.size(); ++unit)
          out[i][unit] += static_cast<double>(gradient[unit]) * gradient[unit];
      }
    });
    progress.update(b + 1);
  }
  return out;
}

}  // namespace smelt
