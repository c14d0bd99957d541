// A shuffle that is never stored: a keyed bijection of [0, size), by a Feistel network over the
// next power of two with cycle walking (Black and Rogaway 2002, "Ciphers with arbitrary finite
// domains"), whose round function is SplitMix64 (Steele, Lea and Flood 2014).
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

  std::uint64_t size_, seed_, rounds_;
  int left_bits_, right_bits_;  // of the network's two halves; left has one more if they differ
};

}  // namespace smelt
