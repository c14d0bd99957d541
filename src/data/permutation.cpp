#include "data/permutation.h"

#include "base/error.h"
#include "base/philox.h"

namespace smelt {

Permutation::Permutation(std::uint64_t size, std::uint64_t key, std::uint64_t number)
    : size_(size), key_(key), number_(number) {
  CHECK(size <= std::uint64_t{1} << 62, size);
  while ((std::uint64_t{1} << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  constexpr std::uint64_t kRounds = 4;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_, right = value & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = philox(key_, number_, round << 32 | right)[0] & mask;
    const std::uint64_t next = left ^ mixed;
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  CHECK(index < size_, index, " of ", size_);
  // The network permutes a somewhat larger domain; walk until the value falls inside.
  std::uint64_t value = encrypt(index);
  while (value >= size_) value = encrypt(value);
  return value;
}

}  // namespace smelt
