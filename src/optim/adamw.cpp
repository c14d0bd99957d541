#include "optim/adamw.h"

#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {

bool has_weight_decay(std::string_view name) {
  for (const std::string_view excluded : {"LayerNorm", "layer_norm", "bias"})
    if (name.find(excluded) != std::string_view::npos) return false;
  return true;
}

static UpdatedParameter adamw_update(const AdamW& o, const OptimizerStep& step, const Parameter& p,
                                     std::span<const Tensor> slots, Tensor g) {
  const Tensor value = p.tensor;
  const Tensor m = o.beta1 * slots[0] + (1 - o.beta1) * g;
  const Tensor v = o.beta2 * slots[1] + (1 - o.beta2) * square(g);
  Tensor m_hat = m, v_hat = v;
  if (o.bias_correction == BiasCorrection::on) {
    const Tensor t = convert(step.step, DType::f32) + 1.0;
    m_hat = m / (1.0 - power(full_like(t, o.beta1), t));
    v_hat = v / (1.0 - power(full_like(t, o.beta2), t));
  }
  Tensor change = m_hat / (sqrt(v_hat) + o.epsilon);
  const bool decays = o.decay_of == DecayOf::all || has_weight_decay(p.name);
  if (o.weight_decay != 0 && decays) change = change + o.weight_decay * value;
  return {.value = value - step.rate * change, .slots = {m, v}};
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
  out.update = [config](const OptimizerStep& step, const Parameter& p,
                        std::span<const Tensor> slots,
                        Tensor gradient) { return adamw_update(config, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt
