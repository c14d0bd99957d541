// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): random numbers
// as a pure function of a key and a counter, the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace smelt {

// Returns 128 random bits for (key, counter).
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high);

// Returns a 64-bit key for one use of random numbers in the program. `place` is the name of that
// use; the key is its FNV-1a hash, mixed with the seed.
std::uint64_t random_key(std::uint64_t seed, std::string_view place);

}  // namespace smelt
