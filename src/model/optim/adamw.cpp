#include "model/optim/adamw.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::power;
using compiler::sqrt;
using compiler::Tensor;

bool has_weight_decay(std::string_view name) {
  for (const std::string_view excluded : {"LayerNorm", "layer_norm", "bias"})
    if (name.find(excluded) != std::string_view::npos) return false;
  return true;
}

bool decays(const AdamW& o, const Parameter& p) {
  return o.decay_of == DecayOf::all || has_weight_decay(p.name);
}

AdamStep adam_step(const AdamW& o, const OptimizerStep& step, const Parameter& p,
                   std::span<const Tensor> slots, Tensor g) {
  const Tensor m = renewed(step, slots[0], o.beta1 * slots[0] + (1 - o.beta1) * g);
  const Tensor v = renewed(step, slots[1], o.beta2 * slots[1] + (1 - o.beta2) * square(g));
  Tensor m_hat = m, v_hat = v;
  if (o.bias_correction == BiasCorrection::on) {
    const Tensor t = convert(step.step, DType::f32) + 1.0;
    m_hat = m / (1.0 - power(full_like(t, o.beta1), t));
    v_hat = v / (1.0 - power(full_like(t, o.beta2), t));
  }
  AdamStep out{.direction = m_hat / (sqrt(v_hat) + o.epsilon), .slots = {m, v}};
  if (step.weight_decay)
    out.direction = out.direction + step.weight_decay * p.tensor;
  else if (o.weight_decay != 0 && decays(o, p))
    out.direction = out.direction + o.weight_decay * p.tensor;
  return out;
}

static UpdatedParameter adamw_update(const AdamW& o, const OptimizerStep& step, const Parameter& p,
                                     std::span<const Tensor> slots, Tensor g) {
  AdamStep adam = adam_step(o, step, p, slots, g);
  return {.value = p.tensor - step.rate * adam.direction, .slots = std::move(adam.slots)};
}

Optimizer adamw(const AdamW& config) {
  Optimizer out;
  out.settings = {{"algorithm", "adamw"},
                  {"bias_correction", config.bias_correction == BiasCorrection::on},
                  {"decay_of", config.decay_of == DecayOf::all ? "all" : "kernels"},
                  {"beta1", config.beta1},
                  {"beta2", config.beta2},
                  {"epsilon", config.epsilon},
                  {"weight_decay", config.weight_decay}};
  out.slots = [](const Parameter& p) {
    const Dims dims = p.dims_of_one();
    return std::vector<Slot>{{.name = "adam_m", .dims = dims}, {.name = "adam_v", .dims = dims}};
  };
  out.weight_decay = [config](const Parameter& p) {
    return decays(config, p) ? config.weight_decay : 0;
  };
  out.update = [config](const OptimizerStep& step, const Parameter& p,
                        std::span<const Tensor> slots,
                        Tensor gradient) { return adamw_update(config, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt::model
