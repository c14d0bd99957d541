#include "model/nn/fake_quant.h"

#include "compiler/ops/ops.h"

namespace smelt {
namespace {

constexpr double kLeastScale = 0x1p-23;

// The largest size along an axis, which is kept with size 1, over the codes to each side.
Tensor scale_of(Tensor x, std::int64_t axis, Tensor codes) {
  const Tensor most = reduce_max(abs(stop_gradient(x)), {axis}, KeepDims::yes);
  return maximum(most / broadcast_to(codes, most.dims()), full_like(most, kLeastScale));
}

}  // namespace

FakeCodes fake_rows(Tensor x) {
  const Tensor scales = scale_of(x, -1, constant(x.graph(), 127, DType::f32));
  const Tensor in_codes = x / scales;
  return {.codes = straight_through(round_nearest_even(in_codes), in_codes), .scales = scales};
}

FakeCodes fake_kernel(Tensor kernel) {
  // XLA would multiply by a constant's reciprocal: then -127.5, which an output's largest weight
  // comes to, is a tie no more, and another code than the folder's.
  const Tensor most = optimization_barrier(constant(kernel.graph(), 127.5, DType::f32));
  const Tensor scales = scale_of(kernel, 0, most), in_codes = kernel / scales;
  const Tensor nearest = round_nearest_even(in_codes);
  return {.codes = straight_through(minimum(nearest, full_like(nearest, 127.0)), in_codes),
          .scales = reshape(scales, {kernel.dim(1)})};
}

}  // namespace smelt
