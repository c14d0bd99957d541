// A shuffle that needs no memory: a keyed bijection of [0, size), computed by a Feistel network
// over the next power of two with cycle walking (Black and Rogaway 2002, "Ciphers with arbitrary
// finite domains"). The round function is SplitMix64 (Steele, Lea and Flood 2014).
#pragma once

#include <cstdint>

namespace smelt::data {

class Permutation {
 public:
  // `number`, such as the epoch, selects one of the permutations of the key.
  Permutation(std::uint64_t size, std::uint64_t key, std::uint64_t number);

  // Returns the position of `index` < size, which is also < size. Each position is returned for
  // exactly one index.
  std::uint64_t operator()(std::uint64_t index) const;

 private:
  std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_, seed_, rounds_;
  int left_bits_, right_bits_;  // widths of the network's halves; the left one may be larger by 1
};

}  // namespace smelt::data
