#include "model/nn/fake_quant.h"

#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::abs;
using compiler::broadcast_to;
using compiler::constant;
using compiler::DType;
using compiler::full_like;
using compiler::KeepDims;
using compiler::maximum;
using compiler::minimum;
using compiler::optimization_barrier;
using compiler::reduce_max;
using compiler::reshape;
using compiler::round_nearest_even;
using compiler::stop_gradient;
using compiler::straight_through;
using compiler::Tensor;
namespace {

constexpr double kMinScale = 0x1p-23;

// Returns the largest absolute value along an axis (kept with size 1) divided by the largest code.
Tensor scale_of(Tensor x, std::int64_t axis, Tensor max_code) {
  const Tensor largest = reduce_max(abs(stop_gradient(x)), {axis}, KeepDims::yes);
  return maximum(largest / broadcast_to(max_code, largest.dims()), full_like(largest, kMinScale));
}

}  // namespace

FakeQuantized fake_rows(Tensor x) {
  const Tensor scales = scale_of(x, -1, constant(x.graph(), 127, DType::f32));
  const Tensor in_codes = x / scales;
  return {.codes = straight_through(round_nearest_even(in_codes), in_codes), .scales = scales};
}

FakeQuantized fake_kernel(Tensor kernel) {
  // The barrier hides the constant from XLA, which would replace the division by a multiplication
  // with the reciprocal. A largest weight that is negative would then no longer be exactly -127.5
  // scales, and might be rounded to another code than in the quantized model folder.
  const Tensor max_code = optimization_barrier(constant(kernel.graph(), 127.5, DType::f32));
  const Tensor scales = scale_of(kernel, 0, max_code), in_codes = kernel / scales;
  const Tensor nearest = round_nearest_even(in_codes);
  return {.codes = straight_through(minimum(nearest, full_like(nearest, 127.0)), in_codes),
          .scales = reshape(scales, {kernel.dim(1)})};
}

}  // namespace smelt::model
