#include "train/initialize.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <numbers>
#include <thread>

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
    for (int pair = 0; pair < 2; ++pair) {
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

}  // namespace

std::vector<float> initial_value(const Parameter& parameter, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(parameter.tensor.shape().elements());
  if (parameter.init.kind != Init::truncated_normal)
    return std::vector<float>(count, parameter.init.kind == Init::ones ? 1.0f : 0.0f);
  TruncatedNormal normal(random_key(seed, parameter.name));
  const auto stddev = static_cast<float>(parameter.init.stddev);
  std::vector<float> values(count);
  for (float& value : values) value = stddev * normal.next();
  return values;
}

std::vector<std::vector<float>> initial_values(const Parameters& parameters, std::uint64_t seed) {
  const auto& all = parameters.all();
  std::vector<std::vector<float>> values(all.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++)
      values[i] = initial_value(all[i], seed);
  };
  std::vector<std::future<void>> workers(std::max(1u, std::thread::hardware_concurrency()));
  for (auto& worker : workers) worker = std::async(std::launch::async, work);
  for (auto& worker : workers) worker.get();
  return values;
}

}  // namespace smelt
