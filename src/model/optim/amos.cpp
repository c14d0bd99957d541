#include "model/optim/amos.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/optim/clip.h"

namespace smelt::model {

using compiler::convert;
using compiler::Dims;
using compiler::dims_text;
using compiler::DType;
using compiler::full_like;
using compiler::KeepDims;
using compiler::maximum;
using compiler::power;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::rsqrt;
using compiler::slice_axis;
using compiler::sqrt;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

double eta_of(const NameRules& rules, const std::string& name, const Dims& dims) {
  const RuleValue value = rules.of(name, dims);
  const double* eta = std::get_if<double>(&value);
  if (eta == nullptr || !(*eta > 0) || !std::isfinite(*eta))
    throw UsageError(
        str(rules.where(), ": eta of ", name, " is ", value_text(value), ", must be above 0"),
        "use the expected scale of its elements, for example sqrt(1 / SHAPE[0])");
  return *eta;
}

Dims slot_dims_of(const NameRules& rules, const std::string& name, const Dims& dims) {
  const RuleValue value = rules.of(name, dims);
  const auto* tuple = std::get_if<std::vector<double>>(&value);
  bool fits = tuple != nullptr && (tuple->empty() || tuple->size() == dims.size());
  for (std::size_t i = 0; fits && i < tuple->size(); ++i)
    fits = (*tuple)[i] == 1 || (*tuple)[i] == static_cast<double>(dims[i]);
  if (!fits)
    throw UsageError(str(rules.where(), ": the slot shape of ", name, " with shape ",
                         dims_text(dims), " is ", value_text(value)),
                     "use (), or a tuple of its dimensions or 1, for example (1, SHAPE[1])");
  return {tuple->begin(), tuple->end()};
}

Dims slot_dims(const NameRules& rules, const Parameter& p) {
  const auto names = p.names();
  const Dims dims = slot_dims_of(rules, names.front(), p.dims_of_one());
  for (const std::string& name : names)
    if (const Dims other = slot_dims_of(rules, name, p.dims_of_one()); other != dims)
      throw UsageError(str(rules.where(), ": the slots of ", names.front(), " have shape ",
                           dims_text(dims), ", those of ", name, " ", dims_text(other)),
                       "use one shape for all layers, or set train.memory.layers to unrolled");
  return dims;
}

Tensor eta_tensor(const NameRules& rules, const Parameter& p) {
  std::vector<double> etas;
  for (const std::string& name : p.names()) etas.push_back(eta_of(rules, name, p.dims_of_one()));
  return by_layer(p, etas);
}

// Returns the slot's dimensions, padded with 1 to the parameter's rank.
Dims wide_dims(const Parameter& p, const Dims& slot) {
  Dims out = slot;
  out.resize(p.tensor.dims().size(), 1);
  return out;
}

// Adds the eight slices of x along the axis, so that an eighth of the rows remains to be summed;
// returns x itself if its size is not a multiple of 8. XLA's CPU fuses this addition with the
// producer of x; for a long sum alone it would write x to memory first.
Tensor sum_slices(Tensor x, std::int64_t axis) {
  constexpr std::int64_t kSlices = 8;
  const std::int64_t rows = x.dim(axis) / kSlices;
  if (x.dim(axis) % kSlices != 0) return x;
  Tensor sum;
  for (std::int64_t i = 0; i < kSlices; ++i) {
    const Tensor next = slice_axis(x, axis, i * rows, (i + 1) * rows);
    sum = sum ? sum + next : next;
  }
  return sum;
}

Tensor mean_square(Tensor g, const Dims& wide, bool in_slices) {
  Dims reduced;
  double count = 1;
  for (std::int64_t axis = 0; axis < g.rank(); ++axis)
    if (wide[static_cast<std::size_t>(axis)] < g.dim(axis)) {
      reduced.push_back(axis);
      count *= static_cast<double>(g.dim(axis));
    }
  if (reduced.empty()) return square(g);
  const Tensor squares = in_slices ? sum_slices(square(g), reduced.front()) : square(g);
  return reduce_sum(squares, reduced, KeepDims::yes) / count;
}

UpdatedParameter amos_update(const Amos& o, const OptimizerStep& step, const Parameter& p,
                             std::span<const Tensor> slots, Tensor gradient) {
  // A schedule that ends at 0 may be slightly negative by rounding.
  const Tensor theta = p.tensor, xi = maximum(step.rate, zeros_like(step.rate));
  const Tensor g = o.clip_value > 0 ? clip_by_value(gradient, o.clip_value) : gradient;
  const Dims dims = slots[0].dims(), wide = wide_dims(p, dims);
  const Tensor g2 = mean_square(g, wide, step.sums_in_slices);
  const Tensor old_v = reshape(slots[0], wide), b = reshape(slots[1], wide);
  const Tensor v = renewed(step, old_v, o.beta * old_v + (1 - o.beta) * g2);

  const Tensor t = convert(step.step, DType::f32) + 1.0;
  const Tensor correction = 1.0 - power(full_like(t, o.beta), t);
  const Tensor r = correction / maximum(v, full_like(v, o.epsilon));  // 1 / corrected v
  const Tensor c = rsqrt(1.0 + o.c_coef * sqrt(xi) * b);
  const Tensor gamma = c * square(xi) * r * g2;
  const Tensor rate = xi * eta_tensor(o.eta, p);
  const Tensor d = 1.0 / (1.0 + o.d_coef * sqrt(rate) * b);
  const Tensor pull = d * (0.5 * gamma + o.extra_l2), push = d * rate * sqrt(r);
  const Tensor change = -(pull * theta) - push * g;

  const Tensor next_b = renewed(step, b, b + gamma * (1.0 + b));
  UpdatedParameter out{.value = theta + change, .slots = {reshape(v, dims), reshape(next_b, dims)}};
  if (o.momentum == 0) return out;
  const Tensor m = renewed(step, slots[2], o.momentum * slots[2] + (1 - o.momentum) * change);
  out.value = theta + m;
  out.slots.push_back(m);
  return out;
}

}  // namespace

Optimizer amos(const Amos& o) {
  Optimizer out;
  out.settings = {
      {"algorithm", "amos"},    {"eta", o.eta.settings()}, {"slot_shape", o.slot_shape.settings()},
      {"beta", o.beta},         {"momentum", o.momentum},  {"clip_value", o.clip_value},
      {"extra_l2", o.extra_l2}, {"c_coef", o.c_coef},      {"d_coef", o.d_coef},
      {"epsilon", o.epsilon}};
  out.first_step = 1;
  out.slots = [o](const Parameter& p) {
    const Dims dims = slot_dims(o.slot_shape, p);
    std::vector<Slot> slots{{.name = "amos_v", .dims = dims}, {.name = "amos_b", .dims = dims}};
    if (o.momentum != 0) slots.push_back({.name = "amos_m", .dims = p.dims_of_one()});
    return slots;
  };
  out.update = [o](const OptimizerStep& step, const Parameter& p, std::span<const Tensor> slots,
                   Tensor gradient) { return amos_update(o, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt::model
