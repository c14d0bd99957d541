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

// Exact: the difference of a number below 2^22 and the nearest whole one is one of its type.
Tensor straight_through(Tensor x, Tensor rounded) { return x + stop_gradient(rounded - x); }

}  // namespace

FakeCodes fake_rows(Tensor x) {
  const Tensor scales = scale_of(x, -1, 127.0), in_codes = x / scales;
  return {.codes = straight_through(in_codes, round_nearest_even(in_codes)), .scales = scales};
}

FakeCodes fake_kernel(Tensor kernel) {
  const Tensor scales = scale_of(kernel, 0, 127.5), in_codes = kernel / scales;
  const Tensor nearest = round_nearest_even(in_codes);
  return {.codes = straight_through(in_codes, minimum(nearest, full_like(nearest, 127.0))),
          .scales = reshape(scales, {kernel.dim(1)})};
}

}  // namespace smelt
