#include "model/optim/lamb.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::abs;
using compiler::bitwise_and;
using compiler::Compare;
using compiler::compare;
using compiler::Dims;
using compiler::full_like;
using compiler::KeepDims;
using compiler::maximum;
using compiler::minimum;
using compiler::ones_like;
using compiler::reduce_sum;
using compiler::select;
using compiler::sqrt;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

// Returns the norm of the parameter, or of each layer; it broadcasts over the parameter.
Tensor norm_of(Tensor x, const Parameter& p) {
  Dims axes;
  for (std::int64_t axis = p.layers > 0 ? 1 : 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes.empty() ? abs(x) : sqrt(reduce_sum(square(x), axes, KeepDims::yes));
}

Tensor trust_ratio(const Lamb& o, const Parameter& p, Tensor direction) {
  Tensor norm = norm_of(p.tensor, p);
  const Tensor of_direction = norm_of(direction, p), zero = zeros_like(norm);
  if (o.least_norm > 0) norm = maximum(norm, full_like(norm, o.least_norm));
  if (o.most_norm > 0) norm = minimum(norm, full_like(norm, o.most_norm));
  const Tensor fine =
      bitwise_and(compare(norm, zero, Compare::gt), compare(of_direction, zero, Compare::gt));
  return select(fine, norm / of_direction, ones_like(norm));
}

UpdatedParameter lamb_update(const Lamb& o, const OptimizerStep& step, const Parameter& p,
                             std::span<const Tensor> slots, Tensor g) {
  const AdamStep adam = adam_step(o.adam, step, p, slots, g);
  Tensor change = adam.direction;
  if (decays(o.adam, p)) change = change * trust_ratio(o, p, change);
  return {.value = p.tensor - step.rate * change, .slots = adam.slots};
}

}  // namespace

Optimizer lamb(const Lamb& config) {
  Optimizer out = adamw(config.adam);
  out.settings["algorithm"] = "lamb";
  out.settings["least_norm"] = config.least_norm;
  out.settings["most_norm"] = config.most_norm;
  out.update = [config](const OptimizerStep& step, const Parameter& p,
                        std::span<const Tensor> slots,
                        Tensor gradient) { return lamb_update(config, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt::model
