// The fast way into a tf.train.Example whose features are known: numbers go straight to where they
// are wanted.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace smelt {

// A list of numbers that every example holds, and the place for it: `integers` or `reals`, `count`
// values.
struct FeatureSlot {
  std::string_view name;
  std::size_t count = 0;
  std::int32_t* integers = nullptr;
  std::int64_t limit = 0;  // integers are in [0, limit), limit <= 2^31
  float* reals = nullptr;
};

constexpr std::size_t kMostSlots = 32;

// Fills all slots from a message of the form that writers of examples give it: exactly these
// features, each once, its key before its value, its list packed, of the right length and range.
// False for every other message, right or wrong: `Example` then tells what it holds; the slots'
// content is of no use. At most kMostSlots.
bool fill_slots(std::string_view message, std::span<const FeatureSlot> slots);

}  // namespace smelt
