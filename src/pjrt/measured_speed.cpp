#include "pjrt/measured_speed.h"

#include <algorithm>

#include "base/clock.h"
#include "pjrt/executable.h"

namespace smelt::pjrt {

double measured_product_flops(const Client& client) {
  constexpr std::int64_t kSize = 1024;
  const std::string type = str("tensor<", kSize, "x", kSize, "xf32>");
  const Executable product = client.compile(
      str("module @product {\n  func.func public @main(%a: ", type, ") -> ", type,
          " {\n    %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (", type, ", ",
          type, ") -> ", type, "\n    return %0 : ", type, "\n  }\n}\n"));
  const std::vector<float> values(kSize * kSize, 1.0f);
  const Buffer a =
      client.to_device(std::as_bytes(std::span(values)), {compiler::DType::f32, {kSize, kSize}});
  double best = 0;
  for (int i = 0; i < 4; ++i) {
    const auto start = Clock::now();
    product.execute({{&a}}).await();
    const double seconds = std::max(seconds_since(start), 1e-9);
    best = std::max(best, 2.0 * kSize * kSize * kSize / seconds);
  }
  return best;
}

}  // namespace smelt::pjrt
