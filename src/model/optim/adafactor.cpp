#include "model/optim/adafactor.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::KeepDims;
using compiler::maximum;
using compiler::power;
using compiler::reduce_sum;
using compiler::rsqrt;
using compiler::sqrt;
using compiler::Tensor;
namespace {

// The two factored dimensions of one layer's parameter, in ascending order; nullopt if it is not
// factored.
using FactoredAxes = std::optional<std::pair<std::int64_t, std::int64_t>>;

FactoredAxes factored_axes(const Adafactor& o, const Dims& dims) {
  const std::int64_t rank = std::ssize(dims);
  if (rank < 2) return std::nullopt;
  std::vector<std::size_t> order(dims.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (o.factored == Adafactor::Factored::largest)
    std::ranges::stable_sort(order, {}, [&](std::size_t axis) { return dims[axis]; });
  const std::size_t second = order[order.size() - 2], first = order.back();
  if (o.factored == Adafactor::Factored::largest && dims[second] < o.least_factored)
    return std::nullopt;
  return std::minmax({static_cast<std::int64_t>(second), static_cast<std::int64_t>(first)});
}

Dims with_1_at(Dims dims, std::int64_t axis) {
  dims[static_cast<std::size_t>(axis)] = 1;
  return dims;
}

Tensor mean_over(Tensor x, const Dims& axes) {
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(x.dim(axis));
  return axes.empty() ? x : reduce_sum(x, axes, KeepDims::yes) / count;
}

// Returns the root mean square of each layer; it broadcasts over the parameter.
Tensor root_mean_square(Tensor x, const Parameter& p) {
  Dims axes;
  for (std::int64_t axis = p.layers > 0 ? 1 : 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return sqrt(mean_over(square(x), axes));
}

Tensor at_least(Tensor x, double minimum) { return maximum(x, full_like(x, minimum)); }

// The gradient divided by the root of the running mean of its squares.
struct ScaledGradient {
  Tensor gradient;
  std::vector<Tensor> slots;
};

ScaledGradient scale_gradient(const Adafactor& o, const OptimizerStep& step, const Parameter& p,
                              std::span<const Tensor> slots, Tensor g) {
  const Tensor t = convert(step.step, DType::f32) + 1.0;
  const Tensor mixed = power(t, full_like(t, -o.decay_rate)), kept = 1.0 - mixed;
  const Tensor g2 = square(g) + o.epsilon1;
  const auto new_slot = [&](Tensor slot, Tensor mean) {
    return renewed(step, slot, kept * slot + mixed * mean);
  };
  const FactoredAxes axes = factored_axes(o, p.dims_of_one());
  if (!axes) {
    const Tensor v = new_slot(slots[0], g2);
    return {g * rsqrt(v), {v}};
  }
  const std::int64_t stack = p.layers > 0 ? 1 : 0;
  const std::int64_t first = axes->first + stack, second = axes->second + stack;
  const Tensor row = new_slot(slots[0], mean_over(g2, {second}));
  const Tensor column = new_slot(slots[1], mean_over(g2, {first}));
  return {g * rsqrt(row / mean_over(row, {first})) * rsqrt(column), {row, column}};
}

UpdatedParameter adafactor_update(const Adafactor& o, const OptimizerStep& step, const Parameter& p,
                                  std::span<const Tensor> slots, Tensor gradient) {
  ScaledGradient found = scale_gradient(o, step, p, slots, gradient);
  Tensor update = found.gradient;
  if (o.clip_threshold > 0)
    update = update / at_least(root_mean_square(update, p) / o.clip_threshold, 1);
  Tensor rate = step.rate;
  if (o.parameter_scale) rate = rate * at_least(root_mean_square(p.tensor, p), o.epsilon2);
  update = rate * update;
  UpdatedParameter out{.value = p.tensor, .slots = std::move(found.slots)};
  if (o.momentum != 0) {
    update = renewed(step, slots.back(), o.momentum * slots.back() + (1 - o.momentum) * update);
    out.slots.push_back(update);
  }
  Tensor decay = step.weight_decay;
  if (!decay && o.weight_decay != 0) decay = full_like(rate, o.weight_decay);
  if (decay) {
    if (o.decay == Adafactor::Decay::by_rate) decay = rate * decay;
    out.value = out.value - decay * p.tensor;
  }
  out.value = out.value - update;
  return out;
}

}  // namespace

Optimizer adafactor(const Adafactor& o) {
  Optimizer out;
  out.settings = {{"algorithm", "adafactor"},
                  {"decay_rate", o.decay_rate},
                  {"epsilon1", o.epsilon1},
                  {"epsilon2", o.epsilon2},
                  {"clip_threshold", o.clip_threshold},
                  {"parameter_scale", o.parameter_scale},
                  {"momentum", o.momentum},
                  {"weight_decay", o.weight_decay},
                  {"decay", o.decay == Adafactor::Decay::by_step ? "by_step" : "by_rate"},
                  {"factored", o.factored == Adafactor::Factored::largest ? "largest" : "last"},
                  {"least_factored", o.least_factored}};
  out.slots = [o](const Parameter& p) {
    const Dims dims = p.dims_of_one();
    std::vector<Slot> slots;
    if (const FactoredAxes axes = factored_axes(o, dims))
      slots = {{.name = "adafactor_row", .dims = with_1_at(dims, axes->second)},
               {.name = "adafactor_column", .dims = with_1_at(dims, axes->first)}};
    else
      slots = {{.name = "adafactor_v", .dims = dims}};
    if (o.momentum != 0) slots.push_back({.name = "adafactor_m", .dims = dims});
    return slots;
  };
  out.weight_decay = [o](const Parameter&) { return o.weight_decay; };
  out.update = [o](const OptimizerStep& step, const Parameter& p, std::span<const Tensor> slots,
                   Tensor gradient) { return adafactor_update(o, step, p, slots, gradient); };
  return out;
}

}  // namespace smelt::model
