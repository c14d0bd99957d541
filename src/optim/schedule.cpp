#include "optim/schedule.h"

#include <algorithm>
#include <numbers>

#include "ops/ops.h"

namespace smelt {
namespace {

Tensor up_to_1(Tensor x) { return clamp(full_like(x, 0), x, full_like(x, 1)); }

// learning_rate times the factor, which falls from 1 to `end` as `left` does from 1 to 0.
Tensor rate_with(const Schedule& o, Tensor left) {
  if (o.end == 0) return o.learning_rate * left;
  return o.learning_rate * (o.end + (1 - o.end) * left);
}

// The share that is left of the way that the decay takes.
Tensor share_left(const Schedule& o, Tensor t) {
  const auto total = static_cast<double>(o.total_steps);
  if (o.warmup != Warmup::precedes) return 1.0 - minimum(t, full_like(t, total)) / total;
  const auto warmup = static_cast<double>(o.warmup_steps);
  return 1.0 - up_to_1((t - warmup) / std::max(1.0, total - warmup));
}

Tensor rate_after_warmup(const Schedule& o, Tensor t) {
  if (o.decay_to_step == 0) return full_like(t, o.learning_rate);
  const auto warmup = static_cast<double>(o.warmup_steps);
  const Tensor gone = (t - warmup) / (static_cast<double>(o.decay_to_step) - warmup);
  return o.learning_rate * (1.0 - up_to_1(gone));
}

Tensor rate_of_last_steps(const Schedule& o, Tensor t) {
  const auto steps = static_cast<double>(o.decay_steps);
  const Tensor gone = up_to_1((t - (static_cast<double>(o.total_steps) - steps)) / steps);
  return rate_with(o, 1.0 - (o.decay == Decay::last_sqrt ? sqrt(gone) : gone));
}

Tensor decayed_rate(const Schedule& o, Tensor t) {
  switch (o.decay) {
    case Decay::after_warmup:
      return rate_after_warmup(o, t);
    case Decay::constant:
      return full_like(t, o.learning_rate);
    case Decay::cosine: {
      const Tensor gone = 1.0 - share_left(o, t);
      return rate_with(o, 0.5 * (1.0 + cos(gone * std::numbers::pi)));
    }
    case Decay::inverse_sqrt: {
      const auto least = std::max(1.0, static_cast<double>(o.warmup_steps));
      return o.learning_rate * sqrt(least / maximum(t, full_like(t, least)));
    }
    case Decay::last_steps:
    case Decay::last_sqrt:
      return rate_of_last_steps(o, t);
    case Decay::polynomial:
      break;
  }
  const Tensor left = share_left(o, t);
  return rate_with(o, o.power == 1.0 ? left : power(left, full_like(t, o.power)));
}

}  // namespace

Tensor learning_rate(const Schedule& o, Tensor step) {
  const Tensor t = convert(step, DType::f32);
  const Tensor decayed = decayed_rate(o, t);
  if (o.warmup_steps == 0 || o.warmup == Warmup::none) return decayed;
  const auto warmup = static_cast<double>(o.warmup_steps);
  if (o.warmup != Warmup::replaces) return decayed * minimum(t / warmup, ones_like(t));
  const Tensor warming = o.learning_rate * (t / warmup);
  return select(compare(t, full_like(t, warmup), Compare::lt), warming, decayed);
}

}  // namespace smelt
