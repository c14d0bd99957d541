#include "optim/adamw.h"

#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {

bool has_weight_decay(std::string_view name) {
  for (const std::string_view excluded : {"LayerNorm", "layer_norm", "bias"})
    if (name.find(excluded) != std::string_view::npos) return false;
  return true;
}

ParameterState adamw(const AdamW& o, Tensor rate, Tensor step, const ParameterState& p, Tensor g,
                     bool decays) {
  const Tensor m = o.beta1 * p.m + (1 - o.beta1) * g;
  const Tensor v = o.beta2 * p.v + (1 - o.beta2) * square(g);
  Tensor m_hat = m, v_hat = v;
  if (o.bias_correction == BiasCorrection::on) {
    const Tensor t = convert(step, DType::f32) + 1.0;
    m_hat = m / (1.0 - power(full_like(t, o.beta1), t));
    v_hat = v / (1.0 - power(full_like(t, o.beta2), t));
  }
  Tensor update = m_hat / (sqrt(v_hat) + o.epsilon);
  if (decays && o.weight_decay != 0) update = update + o.weight_decay * p.value;
  return {.value = p.value - rate * update, .m = m, .v = v};
}

}  // namespace smelt
