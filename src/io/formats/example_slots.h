// Fast parsing of a tf.train.Example with known features: numbers are written directly into their
// destination.
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

// Fills all slots from a message in the usual form: exactly these features, each once, its key
// before its value, with a packed list of the right length and range. Returns false for every other
// message, valid or not; the slots are undefined then, and `Example` can parse it. At most
// kMostSlots.
bool fill_slots(std::string_view message, std::span<const FeatureSlot> slots);

}  // namespace smelt
