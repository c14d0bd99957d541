#include "base/random.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace smelt {

PythonRandom::PythonRandom(std::int64_t seed) {
  const auto bits = static_cast<std::uint64_t>(seed);
  const std::uint64_t magnitude = seed < 0 ? 0 - bits : bits;
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(magnitude),
                                         static_cast<std::uint32_t>(magnitude >> 32)};
  seed_by_array(std::span(key).first(key[1] == 0 ? 1 : 2));
}

void PythonRandom::seed_by_number(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < kWords; ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
}

// init_by_array of the authors' 2002 revision of MT19937.
void PythonRandom::seed_by_array(std::span<const std::uint32_t> key) {
  seed_by_number(19650218u);
  std::size_t i = 1;
  const auto mixed = [&](std::uint32_t multiplier) {
    return state_[i] ^ ((state_[i - 1] ^ (state_[i - 1] >> 30)) * multiplier);
  };
  const auto advance = [&] {
    if (++i < kWords) return;
    state_[0] = state_[kWords - 1];
    i = 1;
  };
  for (std::size_t k = 0, j = 0; k < std::max(kWords, key.size()); ++k) {
    state_[i] = mixed(1664525u) + key[j] + static_cast<std::uint32_t>(j);
    advance();
    if (++j == key.size()) j = 0;
  }
  for (std::size_t k = 0; k < kWords - 1; ++k) {
    state_[i] = mixed(1566083941u) - static_cast<std::uint32_t>(i);
    advance();
  }
  state_[0] = 0x80000000u;
}

void PythonRandom::refill() {
  constexpr std::size_t kShift = 397;
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint32_t upper = state_[i] & 0x80000000u;
    const std::uint32_t lower = state_[(i + 1) % kWords] & 0x7FFFFFFFu;
    const std::uint32_t twist = (lower & 1) != 0 ? 0x9908B0DFu : 0;
    state_[i] = state_[(i + kShift) % kWords] ^ ((upper | lower) >> 1) ^ twist;
  }
  at_ = 0;
}

std::uint32_t PythonRandom::next() {
  if (at_ == kWords) refill();
  std::uint32_t bits = state_[at_++];
  bits ^= bits >> 11;
  bits ^= (bits << 7) & 0x9D2C5680u;
  bits ^= (bits << 15) & 0xEFC60000u;
  return bits ^ (bits >> 18);
}

double PythonRandom::random() {
  const std::uint32_t high = next() >> 5, low = next() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

std::uint32_t PythonRandom::below(std::uint32_t limit) {
  CHECK(limit >= 1);
  const int bits = static_cast<int>(std::bit_width(limit));
  std::uint32_t draw = random_bits(bits);
  while (draw >= limit) draw = random_bits(bits);
  return draw;
}

}  // namespace smelt
