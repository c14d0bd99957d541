// Reference implementations of random bits as functions of (place, row, element): the hash of
// model/nn/random.cpp without a graph, and Philox, whose quality is known (Salmon et al. 2011).
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "base/philox.h"

namespace smelt::testing {

// Identifies a draw. Layers and streams are numbered from 1.
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

  // For rows with one or several axes: element `last` along the last axis; `before` counts the
  // elements before its first one.
  std::uint32_t at(std::uint32_t row, std::uint32_t element) const {
    return folded(hashed(row, of_last(element)), 16);
  }
  std::uint32_t at(std::uint32_t row, std::uint32_t last, std::uint32_t before) const {
    return folded(hashed(row, of_last(last) + of_before(before)), 16);
  }
  // For rows that consist of one element.
  std::uint32_t of_row(std::uint32_t row) const { return folded(hashed(row, first_), 16); }
  // Returns whether dropout keeps the element.
  bool keeps(std::uint32_t row, std::uint32_t element, double rate) const {
    const auto number = static_cast<std::int32_t>(hashed(row, of_last(element)));
    return number >= std::round(rate * 0x1p32) - 0x1p31;
  }
  std::uint32_t row_key(std::uint32_t row) const { return mix(row * 0x9E3779B9u + second_); }

 private:
  std::uint32_t of_last(std::uint32_t i) const { return mix(i * 0x9E3779B9u + first_); }
  std::uint32_t of_before(std::uint32_t i) const {
    return mix(i * 0x9E3779B9u + first_ * 0xB5297A4Du);
  }
  std::uint32_t hashed(std::uint32_t row, std::uint32_t key) const {
    return folded((key ^ row_key(row)) * 0x837FF9u, 12) * 0x22841u;
  }
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
  std::uint32_t at(std::uint32_t row, std::uint32_t last, std::uint32_t before) const {
    return at(row, before + last);
  }

 private:
  std::uint64_t key_, high_;
};

}  // namespace smelt::testing
