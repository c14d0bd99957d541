#include "optim/schedule.h"

#include "ops/ops.h"

namespace smelt {

Tensor learning_rate(const Schedule& o, Tensor step) {
  const Tensor t = convert(step, DType::f32);
  const auto total = static_cast<double>(o.total_steps);
  const Tensor remaining = 1.0 - minimum(t, full_like(t, total)) / total;
  const Tensor decayed =
      o.learning_rate * (o.power == 1.0 ? remaining : power(remaining, full_like(t, o.power)));
  if (o.warmup_steps == 0) return decayed;
  const auto warmup = static_cast<double>(o.warmup_steps);
  if (o.warmup == Warmup::multiplies) return decayed * minimum(t / warmup, ones_like(t));
  const Tensor warming = o.learning_rate * (t / warmup);
  return select(compare(t, full_like(t, warmup), Compare::lt), warming, decayed);
}

}  // namespace smelt
