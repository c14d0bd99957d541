// A fast parser for tf.train.Examples with known features, which writes numbers directly to their
// destination.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace smelt::io {

// A feature that every example has, and its destination: `integers` or `reals`, `count` values.
struct FeatureSlot {
  std::string_view name;
  std::size_t count = 0;
  std::int32_t* integers = nullptr;
  std::int64_t limit = 0;  // integers are in [0, limit), limit <= 2^31
  float* reals = nullptr;
};

constexpr std::size_t kMostSlots = 32;

// Fills all slots from a message in the usual form: exactly these features, each once, key before
// value, lists packed, of the right length and range. Returns false for any other message, valid or
// not, and leaves the slots undefined; parse it with `Example` then. Accepts at most kMostSlots
// slots.
bool fill_slots(std::string_view message, std::span<const FeatureSlot> slots);

}  // namespace smelt::io
