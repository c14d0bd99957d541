#include "compress/mask_fisher.h"

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt::compress {
namespace {

compiler::Tensor loss_of(const model::Objective& objective) {
  compiler::Tensor loss;
  for (const model::Metric& m : objective.losses) {
    const compiler::Tensor part = m.sum * model::norm_factor(m.norm, m.weight) * m.factor;
    loss = loss ? loss + part : part;
  }
  return loss;
}

}  // namespace

model::Prediction mask_gradients(const model::Task& task,
                                 const std::vector<MaskedProduct>& products) {
  model::Prediction out;
  out.features = task.features;
  out.outputs = [task, products](const model::Scope& root, const model::Inputs& inputs) {
    const compiler::Tensor loss = loss_of(task.objective(root, inputs));
    std::vector<compiler::Tensor> kernels, sums;
    for (const MaskedProduct& product : products) kernels.push_back(root.shared(product.parameter));
    const auto gradients = compiler::grad(loss, kernels);
    for (std::size_t i = 0; i < products.size(); ++i) {
      const compiler::Tensor along = compiler::reduce_sum(kernels[i] * gradients[i], {1});
      const std::int64_t units = products[i].units;
      sums.push_back(
          compiler::reduce_sum(compiler::reshape(along, {units, along.dim(0) / units}), {1}));
    }
    return sums;
  };
  return out;
}

std::vector<std::vector<double>> mask_fisher(const model::Task& task,
                                             const std::vector<MaskedProduct>& products,
                                             const RowPass& pass) {
  std::vector<std::vector<double>> out;
  for (const MaskedProduct& product : products)
    out.emplace_back(static_cast<std::size_t>(product.units));
  run_on_rows(pass, mask_gradients(task, products),
              [&](std::size_t i, std::span<const float> gradient) {
                for (std::size_t unit = 0; unit < gradient.size(); ++unit)
                  out[i][unit] += static_cast<double>(gradient[unit]) * gradient[unit];
              });
  return out;
}

}  // namespace smelt::compress
