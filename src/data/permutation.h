// A shuffle that is never stored: a keyed bijection of [0, size), by a Feistel network over the
// next power of four with cycle walking (Black and Rogaway 2002, "Ciphers with arbitrary finite
// domains").
#pragma once

#include <cstdint>

namespace smelt {

class Permutation {
 public:
  // `number` tells the permutations of one key apart, e.g. the epoch.
  Permutation(std::uint64_t size, std::uint64_t key, std::uint64_t number);

  // Where `index` < size goes: a value < size, each exactly once.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_, key_, number_;
  int half_bits_ = 4;  // with fewer, the orders of a handful of values are not equally likely
};

}  // namespace smelt
