#include "train/initialize.h"

#include <array>
#include <atomic>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "base/philox.h"

namespace smelt {
namespace {

// Normal numbers cut at +-2 by drawing again, two from each pair of uniforms (Box & Muller 1958).
class TruncatedNormal {
 public:
  explicit TruncatedNormal(std::uint64_t key) : key_(key) {}

  float next() {
    for (;;) {
      if (used_ == 4) refill();
      const float value = normals_[used_++];
      if (std::fabs(value) <= 2.0f) return value;
    }
  }

 private:
  void refill() {
    const auto bits = philox(key_, counter_++, 0);
    for (std::size_t pair = 0; pair < 2; ++pair) {
      const float u = (static_cast<float>(bits[2 * pair] >> 8) + 0.5f) * 0x1p-24f;
      const float angle =
          2 * std::numbers::pi_v<float> * static_cast<float>(bits[2 * pair + 1] >> 8) * 0x1p-24f;
      const float radius = std::sqrt(-2.0f * std::log(u));
      normals_[2 * pair] = radius * std::cos(angle);
      normals_[2 * pair + 1] = radius * std::sin(angle);
    }
    used_ = 0;
  }

  std::uint64_t key_, counter_ = 0;
  std::array<float, 4> normals_{};
  int used_ = 4;
};

// Within +-1.
class Uniform {
 public:
  explicit Uniform(std::uint64_t key) : key_(key) {}

  float next() {
    if (used_ == 4) {
      bits_ = philox(key_, counter_++, 0);
      used_ = 0;
    }
    return 2 * ((static_cast<float>(bits_[used_++] >> 8) + 0.5f) * 0x1p-24f) - 1;
  }

 private:
  std::uint64_t key_, counter_ = 0;
  std::array<std::uint32_t, 4> bits_{};
  std::size_t used_ = 4;
};

}  // namespace

std::vector<float> initial_value(const StateTensor& tensor, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(tensor.shape.elements());
  if (tensor.init.kind == Init::constant)
    return std::vector<float>(count, static_cast<float>(tensor.init.value));
  std::vector<float> values;
  values.reserve(count);
  const auto draw = [&](auto source, double scale) {
    for (std::int64_t i = 0; i < tensor.shape_of_one().elements(); ++i)
      values.push_back(static_cast<float>(scale) * source.next());
  };
  for (const std::string& name : tensor.drawn_names()) {
    const std::uint64_t key = random_key(seed, name);
    if (tensor.init.kind == Init::uniform)
      draw(Uniform(key), tensor.init.limit);
    else
      draw(TruncatedNormal(key), tensor.init.stddev);
  }
  return values;
}

std::vector<std::vector<float>> initial_values(std::span<const StateTensor> tensors,
                                               std::uint64_t seed) {
  std::vector<std::vector<float>> values(tensors.size());
  std::atomic<std::size_t> next = 0;
  run_parallel(available_threads(), [&](int) {
    for (std::size_t i; (i = next++) < tensors.size();) values[i] = initial_value(tensors[i], seed);
  });
  return values;
}

}  // namespace smelt
