#include "model/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace smelt::model {
namespace {

float up_to_1(float x) { return std::clamp(x, 0.0f, 1.0f); }

// Returns the learning rate times a factor that falls from 1 to `end` as `left` falls from 1 to 0.
float rate_with(const Schedule& o, float left) {
  const auto rate = static_cast<float>(o.learning_rate);
  if (o.end == 0) return rate * left;
  return rate * (static_cast<float>(o.end) + static_cast<float>(1 - o.end) * left);
}

// Returns the remaining share of the decay, from 1 to 0.
float share_left(const Schedule& o, float t) {
  const auto total = static_cast<float>(o.total_steps);
  if (o.warmup != Warmup::precedes) return 1 - std::min(t, total) / total;
  const auto warmup = static_cast<float>(o.warmup_steps);
  return 1 - up_to_1((t - warmup) / std::max(1.0f, total - warmup));
}

float rate_after_warmup(const Schedule& o, float t) {
  if (o.decay_to_step == 0) return static_cast<float>(o.learning_rate);
  const auto warmup = static_cast<float>(o.warmup_steps);
  const float gone = (t - warmup) / (static_cast<float>(o.decay_to_step) - warmup);
  return static_cast<float>(o.learning_rate) * (1 - up_to_1(gone));
}

float rate_of_last_steps(const Schedule& o, float t) {
  const auto steps = static_cast<float>(o.decay_steps);
  const float gone = up_to_1((t - (static_cast<float>(o.total_steps) - steps)) / steps);
  return rate_with(o, 1 - (o.decay == Decay::last_sqrt ? std::sqrt(gone) : gone));
}

float decayed_rate(const Schedule& o, float t) {
  const auto rate = static_cast<float>(o.learning_rate);
  switch (o.decay) {
    case Decay::after_warmup:
      return rate_after_warmup(o, t);
    case Decay::constant:
      return rate;
    case Decay::cosine: {
      const float gone = 1 - share_left(o, t);
      return rate_with(o, 0.5f * (1 + std::cos(gone * std::numbers::pi_v<float>)));
    }
    case Decay::inverse_sqrt: {
      const float first = std::max(1.0f, static_cast<float>(o.warmup_steps));
      return rate * std::sqrt(first / std::max(t, first));
    }
    case Decay::last_steps:
    case Decay::last_sqrt:
      return rate_of_last_steps(o, t);
    case Decay::polynomial:
      break;
  }
  const float left = share_left(o, t);
  return rate_with(o, o.power == 1 ? left : std::pow(left, static_cast<float>(o.power)));
}

}  // namespace

float learning_rate(const Schedule& o, std::int64_t step) {
  const auto t = static_cast<float>(step);
  const float decayed = decayed_rate(o, t);
  if (o.warmup_steps == 0 || o.warmup == Warmup::none) return decayed;
  const float done = t / static_cast<float>(o.warmup_steps);
  if (o.warmup != Warmup::replaces) return decayed * std::min(done, 1.0f);
  return step < o.warmup_steps ? static_cast<float>(o.learning_rate) * done : decayed;
}

}  // namespace smelt::model
