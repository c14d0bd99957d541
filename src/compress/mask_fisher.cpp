#include "compress/mask_fisher.h"

#include "compiler/autodiff/grad.h"
#include "compiler/ops/ops.h"

namespace smelt {
namespace {

Tensor loss_of(const Objective& objective) {
  Tensor loss;
  for (const Metric& m : objective.losses) {
    const Tensor part = m.sum * norm_factor(m.norm, m.weight) * m.factor;
    loss = loss ? loss + part : part;
  }
  return loss;
}

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

std::vector<std::vector<double>> mask_fisher(const Task& task,
                                             const std::vector<MaskedProduct>& products,
                                             const RowPass& pass) {
  std::vector<std::vector<double>> out;
  for (const MaskedProduct& product : products)
    out.emplace_back(static_cast<std::size_t>(product.units));
  ask_rows(pass, mask_gradients(task, products),
           [&](std::size_t i, std::span<const float> gradient) {
             for (std::size_t unit = 0; unit < gradient.size(); ++unit)
               out[i][unit] += static_cast<double>(gradient[unit]) * gradient[unit];
           });
  return out;
}

}  // namespace smelt
