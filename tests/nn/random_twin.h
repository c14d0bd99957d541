// Random bits as plain functions of (place, row, element): the hash of nn/random.cpp once more,
// without a graph, and bits of Philox, whose quality is known (Salmon et al. 2011).
#pragma once

#include <cstdint>
#include <string>

#include "base/philox.h"

namespace smelt::testing {

// Who draws. No layer and no stream are number 0.
struct Drawer {
  std::uint64_t seed = 1;
  std::string place = "bert/embeddings/dropout";
  std::uint32_t step = 0, layer = 0, stream = 0;
};

class HashBits {
 public:
  explicit HashBits(const Drawer& drawer) {
    const std::uint64_t key = random_key(drawer.seed, drawer.place);
    first_ = static_cast<std::uint32_t>(key) + drawer.step * 0xA511E9B3u +
             drawer.layer * 0x85EBCA6Bu + drawer.stream * 0xC2B2AE35u;
    second_ = static_cast<std::uint32_t>(key >> 32) + drawer.step * 0x63D83595u +
              drawer.layer * 0x27D4EB2Fu + drawer.stream * 0x165667B1u;
  }

  std::uint32_t at(std::uint32_t row, std::uint32_t element) const {
    std::uint32_t x = folded(element * 0x9E3779B9u + first_, 16) ^ row_key(row);
    x = folded(x * 0x7FEB352Du, 15);
    return folded(x * 0x846CA68Bu, 16);
  }
  std::uint32_t row_key(std::uint32_t row) const { return mix(row * 0x9E3779B9u + second_); }

 private:
  static std::uint32_t folded(std::uint32_t x, int shift) { return x ^ (x >> shift); }
  static std::uint32_t mix(std::uint32_t x) {
    x = folded(x, 16) * 0x85EBCA6Bu;
    x = folded(x, 13) * 0xC2B2AE35u;
    return folded(x, 16);
  }

  std::uint32_t first_, second_;
};

class PhiloxBits {
 public:
  explicit PhiloxBits(const Drawer& drawer)
      : key_(random_key(drawer.seed, drawer.place)),
        high_(philox(std::uint64_t{drawer.layer} << 32 | drawer.step, drawer.stream, 1)[0]) {}

  std::uint32_t at(std::uint32_t row, std::uint32_t element) const {
    return philox(key_, std::uint64_t{row} << 32 | element / 4, high_)[element % 4];
  }

 private:
  std::uint64_t key_, high_;
};

}  // namespace smelt::testing
