#include "nn/fake_quant.h"

#include "ops/ops.h"

namespace smelt {
namespace {

constexpr double kLeastScale = 0x1p-23;

// The largest size along an axis, which is kept with size 1, over the codes to each side.
Tensor scale_of(Tensor x, std::int64_t axis, double codes) {
  const Tensor most = reduce_max(abs(stop_gradient(x)), {axis}, KeepDims::yes);
  return maximum(most / codes, full_like(most, kLeastScale));
}

}  // namespace

FakeCodes fake_rows(Tensor x) {
  const Tensor scales = scale_of(x, -1, 127.0), in_codes = x / scales;
  return {.codes = straight_through(round_nearest_even(in_codes), in_codes), .scales = scales};
}

FakeCodes fake_kernel(Tensor kernel) {
  const Tensor scales = scale_of(kernel, 0, 127.5), in_codes = kernel / scales;
  const Tensor nearest = round_nearest_even(in_codes);
  return {.codes = straight_through(minimum(nearest, full_like(nearest, 127.0)), in_codes),
          .scales = reshape(scales, {kernel.dim(1)})};
}

}  // namespace smelt
