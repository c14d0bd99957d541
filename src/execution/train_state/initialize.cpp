#include "execution/train_state/initialize.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/philox.h"

namespace smelt::execution {
namespace {

// Maps random bits to a float in (-1, 1).
float within_one(std::uint32_t bits) {
  return 2 * ((static_cast<float>(bits >> 8) + 0.5f) * 0x1p-24f) - 1;
}

// Maps a uniform number in (-1, 1) to the normal distribution truncated at +-2, by inverse
// transform sampling. The inverse is approximated by t times a rational function of t^2 - 1
// (relative error below 4e-7). Uses no branches or library calls, so that the compiler vectorizes
// it.
float cut_normal(float t) {
  const float z = t * t - 1;
  const float p = (((4.384502410888672f * z - 54.242122650146484f) * z + 74.49099731445312f) * z -
                   24.256391525268555f) *
                      z +
                  1.9999998807907104f;
  const float q = (((10.7059907913208f * z - 55.25383758544922f) * z + 52.42593002319336f) * z -
                   13.838014602661133f) *
                      z +
                  1;
  return t * (p / q);
}

// Draws values.size() values. Value i is computed from word i mod 4 of Philox block i / 4.
template <class Value>
void draw(std::uint64_t key, std::span<float> values, Value value) {
  constexpr std::size_t kBlock = 1024;
  std::array<std::uint32_t, kBlock> words;
  std::uint64_t counter = 0;
  while (!values.empty()) {
    for (std::size_t i = 0; i < kBlock; i += 4)
      std::ranges::copy(philox(key, counter++, 0), words.begin() + static_cast<std::ptrdiff_t>(i));
    std::array<float, kBlock> drawn;
    for (std::size_t i = 0; i < kBlock; ++i) drawn[i] = value(within_one(words[i]));
    const std::size_t count = std::min(values.size(), kBlock);
    std::copy_n(drawn.begin(), count, values.begin());
    values = values.subspan(count);
  }
}

}  // namespace

void draw_initial(const model::StateTensor& tensor, std::uint64_t seed, std::span<float> values) {
  CHECK(std::ssize(values) == tensor.shape.elements(), values.size(), " values for ", tensor.shape);
  const model::Init& init = tensor.init;
  if (init.kind == model::Init::constant) {
    std::ranges::fill(values, static_cast<float>(init.value));
    return;
  }
  const auto one = static_cast<std::size_t>(tensor.shape_of_one().elements());
  for (const std::string& name : tensor.drawn_names()) {
    const std::uint64_t key = random_key(seed, name);
    const std::span here = values.first(one);
    values = values.subspan(one);
    if (init.kind == model::Init::uniform)
      draw(key, here, [limit = static_cast<float>(init.limit)](float t) { return limit * t; });
    else
      draw(key, here, [deviation = static_cast<float>(init.stddev)](float t) {
        return deviation * cut_normal(t);
      });
  }
}

}  // namespace smelt::execution
