#include "model/train_step/spikes.h"

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::bitwise_and;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::DType;
using compiler::full_like;
using compiler::reduce_sum;
using compiler::reshape;
using compiler::slice_axis;
using compiler::sqrt;
using compiler::Tensor;

StateTensor spike_losses(const Spikes& spikes) {
  return {.name = kSpikeLosses, .shape = {DType::f32, {spikes.window}}, .init = {}};
}

Tensor is_spike(const Spikes& spikes, Tensor losses, Tensor loss, Tensor step) {
  const auto count = static_cast<double>(spikes.window);
  const Tensor mean = reduce_sum(losses, {0}) / count;
  const Tensor variance = reduce_sum(square(losses - mean), {0}) / count;
  const Tensor full = compare(step, full_like(step, count), Compare::ge);
  return bitwise_and(full, compare(loss, mean + spikes.sigmas * sqrt(variance), Compare::gt));
}

Tensor next_losses(Tensor losses, Tensor loss) {
  return concatenate({slice_axis(losses, 0, 1, losses.dim(0)), reshape(loss, {1})}, 0);
}

}  // namespace smelt::model
