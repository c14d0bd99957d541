#include "data/input_pipeline/permutation.h"

#include <bit>

#include "base/error.h"
#include "base/philox.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kRounds = 12;
// Domains of at most this many bits need twice the number of rounds for a uniform distribution.
constexpr int kFewBits = 3;

// Returns element `place` of SplitMix64's sequence of random numbers for the seed.
std::uint64_t split_mix(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t z = seed + place * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::uint64_t seed_of(std::uint64_t key, std::uint64_t number) {
  const auto bits = philox(key, number, 0);
  return std::uint64_t{bits[1]} << 32 | bits[0];
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key, std::uint64_t number)
    : size_(size), seed_(seed_of(key, number)) {
  CHECK(size > 0 && size <= std::uint64_t{1} << 62, size);
  const int bits = static_cast<int>(std::bit_width(size - 1));
  right_bits_ = bits / 2;
  left_bits_ = bits - right_bits_;
  rounds_ = bits <= kFewBits ? 2 * kRounds : kRounds;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t left_mask = (std::uint64_t{1} << left_bits_) - 1;
  const std::uint64_t right_mask = (std::uint64_t{1} << right_bits_) - 1;
  std::uint64_t left = value >> right_bits_, right = value & right_mask;
  for (std::uint64_t round = 0; round < rounds_; round += 2) {
    left ^= split_mix(seed_, round << 32 | right) & left_mask;
    right ^= split_mix(seed_, (round + 1) << 32 | left) & right_mask;
  }
  return left << right_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  CHECK(index < size_, index, " of ", size_);
  // The network permutes a slightly larger domain. Repeat until the value is inside.
  std::uint64_t value = encrypt(index);
  while (value >= size_) value = encrypt(value);
  return value;
}

}  // namespace smelt::data
