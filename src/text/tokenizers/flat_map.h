// A hash map from 64-bit keys to 32-bit values with open addressing, for the inner loops of
// tokenizers. Entries are never removed.
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::text {

class FlatMap {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;  // returned for missing keys

  // `entries` is the maximum number of insertions.
  explicit FlatMap(std::size_t entries = 0) {
    std::size_t slots = 16;
    while (slots < 2 * entries) slots *= 2;
    slots_.resize(slots);
  }

  // Inserts a key or replaces its value.
  void insert_or_assign(std::uint64_t key, std::uint32_t value) {
    slots_[place_of(key)] = {key, value};
  }
  std::uint32_t find(std::uint64_t key) const { return slots_[place_of(key)].value; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t value = kNone;
  };

  std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15U) >> 20 & mask;
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
};

}  // namespace smelt::text
