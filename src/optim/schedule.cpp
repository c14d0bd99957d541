#include "optim/schedule.h"

#include "ops/ops.h"

namespace smelt {

static Tensor decayed_rate(const Schedule& o, Tensor t) {
  if (o.decay == Decay::after_warmup) {
    if (o.decay_to_step == 0) return full_like(t, o.learning_rate);
    const auto warmup = static_cast<double>(o.warmup_steps);
    const Tensor gone = (t - warmup) / (static_cast<double>(o.decay_to_step) - warmup);
    return o.learning_rate * (1.0 - clamp(full_like(t, 0), gone, full_like(t, 1)));
  }
  const auto total = static_cast<double>(o.total_steps);
  const Tensor remaining = 1.0 - minimum(t, full_like(t, total)) / total;
  return o.learning_rate * (o.power == 1.0 ? remaining : power(remaining, full_like(t, o.power)));
}

Tensor learning_rate(const Schedule& o, Tensor step) {
  const Tensor t = convert(step, DType::f32);
  const Tensor decayed = decayed_rate(o, t);
  if (o.warmup_steps == 0) return decayed;
  const auto warmup = static_cast<double>(o.warmup_steps);
  if (o.warmup == Warmup::multiplies) return decayed * minimum(t / warmup, ones_like(t));
  const Tensor warming = o.learning_rate * (t / warmup);
  return select(compare(t, full_like(t, warmup), Compare::lt), warming, decayed);
}

}  // namespace smelt
