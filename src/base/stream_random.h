// Random numbers as a pure function of (key, stream): Philox blocks in counter order. Streams are
// independent, so the numbers do not depend on how work is split over threads.
#pragma once

#include <array>
#include <cstdint>

#include "base/draws.h"
#include "base/philox.h"

namespace smelt {

class StreamRandom : public Draws<StreamRandom> {
 public:
  // `stream` and `part` select a stream of the key. `part` must be less than 2^32. A stream has
  // 2^34 32-bit words.
  StreamRandom(std::uint64_t key, std::uint64_t stream, std::uint64_t part)
      : key_(key), stream_(stream), block_(part << 32) {}

  // Returns a uniform number in [0, 1) with 53 random bits.
  double random() {
    const std::uint64_t high = next() >> 5, low = next() >> 6;
    return static_cast<double>(high << 26 | low) * 0x1p-53;
  }
  // Returns a uniform integer in [0, limit), limit >= 1 (Lemire 2019, "Fast random integer
  // generation in an interval").
  std::uint32_t below(std::uint32_t limit) {
    std::uint64_t product = std::uint64_t{next()} * limit;
    if (static_cast<std::uint32_t>(product) < limit) {
      const std::uint32_t threshold = -limit % limit;
      while (static_cast<std::uint32_t>(product) < threshold)
        product = std::uint64_t{next()} * limit;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint32_t next() {
    if (at_ == words_.size()) {
      words_ = philox(key_, block_++, stream_);
      at_ = 0;
    }
    return words_[at_++];
  }

  std::uint64_t key_, stream_, block_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t at_ = 4;
};

}  // namespace smelt
