#include "model/optim/stable_adamw.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::DType;
using compiler::Tensor;
namespace {

// Returns beta (1 - beta^(t-1)) / (1 - beta^t): with it in place of beta a moving average needs no
// bias correction.
Tensor corrected_beta(double beta, Tensor t) {
  const Tensor power_t = power(full_like(t, beta), t);
  return (power_t - beta) / (power_t - 1.0);
}

// Returns the mean of each layer; it broadcasts over the parameter.
Tensor mean_of_layers(Tensor x, const Parameter& p) {
  compiler::Dims axes;
  for (std::int64_t axis = p.layers > 0 ? 1 : 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? x : mean(x, axes);
}

UpdatedParameter stable_adamw_update(const AdamW& o, const OptimizerStep& step, const Parameter& p,
                                     std::span<const Tensor> slots, Tensor g) {
  const Tensor t = convert(step.step, DType::f32) + 1.0, squares = square(g);
  const Tensor beta1 = corrected_beta(o.beta1, t), beta2 = corrected_beta(o.beta2, t);
  const Tensor m = renewed(step, slots[0], slots[0] + (1.0 - beta1) * (g - slots[0]));
  const Tensor v = renewed(step, slots[1], beta2 * slots[1] + (1.0 - beta2) * squares);
  const Tensor least = full_like(v, o.epsilon * o.epsilon);
  const Tensor ratio = sqrt(mean_of_layers(squares / maximum(v, least), p));
  const Tensor rate = step.rate / maximum(ratio, ones_like(ratio));
  Tensor value = p.tensor;
  if (step.weight_decay)
    value = value * (1.0 - rate * step.weight_decay);
  else if (o.weight_decay != 0 && decays(o, p))
    value = value * (1.0 - rate * o.weight_decay);
  return {.value = value - rate * (m / (sqrt(v) + o.epsilon)), .slots = {m, v}};
}

}  // namespace

Optimizer stable_adamw(const AdamW& config) {
  AdamW o = config;
  o.bias_correction = BiasCorrection::on;
  Optimizer out = adamw(o);
  out.settings["algorithm"] = "stable_adamw";
  out.update = [o](const OptimizerStep& step, const Parameter& p, std::span<const Tensor> slots,
                   Tensor gradient) { return stable_adamw_update(o, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt::model
