// Python's random.Random: MT19937 (Matsumoto and Nishimura 1998) with CPython 3's seeding and
// derived draws. A seed yields the same numbers as in Python 3.2 and later; shuffle() is that of
// Python 3.11.
#pragma once

#include <array>
#include <cstdint>

#include "base/draws.h"

namespace smelt {

class PythonRandom : public Draws<PythonRandom> {
 public:
  // Equals Python's Random(seed), which ignores the sign of the seed.
  explicit PythonRandom(std::int64_t seed);

  // Returns a uniform number in [0, 1) with 53 random bits.
  double random();
  // Returns `bits` random bits, 1 to 32.
  std::uint32_t random_bits(int bits) { return next() >> (32 - bits); }
  // Returns a uniform integer in [0, limit) by rejection sampling; limit >= 1.
  std::uint32_t below(std::uint32_t limit);

 private:
  static constexpr std::size_t kWords = 624;
  std::uint32_t next();
  void seed_by_number(std::uint32_t seed);
  void seed_by_array(std::span<const std::uint32_t> key);
  void refill();

  std::array<std::uint32_t, kWords> state_;
  std::size_t at_ = kWords;
};

}  // namespace smelt
