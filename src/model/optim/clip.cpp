#include "model/optim/clip.h"

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::clamp;
using compiler::constant;
using compiler::Dims;
using compiler::full_like;
using compiler::minimum;
using compiler::reduce_sum;
using compiler::sqrt;
using compiler::Tensor;

Tensor global_norm(std::span<const Tensor> tensors) {
  CHECK(!tensors.empty());
  Tensor sum;
  for (const Tensor& t : tensors) {
    Dims axes(t.rank());
    for (std::int64_t i = 0; i < t.rank(); ++i) axes[i] = i;
    const Tensor squares = reduce_sum(square(t), axes);
    sum = sum ? sum + squares : squares;
  }
  return sqrt(sum);
}

std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> tensors, Tensor norm,
                                        double limit) {
  // norm - norm is 0, or NaN if the norm is infinite or NaN.
  const Tensor scale = limit * minimum(1.0 / norm, full_like(norm, 1.0 / limit)) + (norm - norm);
  std::vector<Tensor> clipped;
  for (const Tensor& t : tensors) clipped.push_back(t * scale);
  return clipped;
}

Tensor clip_by_value(Tensor tensor, double limit) {
  const auto scalar = [&](double value) { return constant(tensor.graph(), value, tensor.dtype()); };
  return clamp(scalar(-limit), tensor, scalar(limit));
}

}  // namespace smelt::model
