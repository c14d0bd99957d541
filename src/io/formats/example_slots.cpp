#include "io/formats/example_slots.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace smelt::io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kTopBits = 0x8080808080808080;

std::uint64_t load8(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Removes a length-delimited field from `rest` and returns its bytes. Returns nullopt if the field
// has another number or its length is 2^21 or more.
std::optional<std::string_view> take_field(std::string_view& rest, int field) {
  if (rest.size() < 2 || rest[0] != static_cast<char>(field << 3 | 2)) return std::nullopt;
  std::size_t length = 0, at = 1;
  for (int shift = 0; shift < 21 && at < rest.size(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest[at++]);
    length |= std::size_t{byte & 0x7Fu} << shift;
    if (byte >= 0x80) continue;
    if (length > rest.size() - at) return std::nullopt;
    const std::string_view out = rest.substr(at, length);
    rest.remove_prefix(at + length);
    return out;
  }
  return std::nullopt;
}

// Returns the varint, of at most 4 bytes, at the beginning of `word`. `stops` has the bits that
// mark the last byte of each varint in `word`; the first one ends this varint.
std::uint32_t short_varint(std::uint64_t word, std::uint64_t stops) {
  word &= stops ^ (stops - 1);
  return static_cast<std::uint32_t>((word & 0x7F) | (word >> 1 & 0x3F80) | (word >> 2 & 0x1FC000) |
                                    (word >> 3 & 0xFE00000));
}

// Returns the 8 bytes at `at`, with zeros in place of bytes beyond the end of `all`.
std::uint64_t load_before(const char* at, std::string_view all) {
  const char* const end = all.data() + all.size();
  const auto left = static_cast<std::size_t>(end - at);
  if (left >= 8) return load8(at);
  if (all.size() >= 8) return load8(end - 8) >> (8 * (8 - left));
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < left; ++i)
    word |= std::uint64_t{static_cast<unsigned char>(at[i])} << (8 * i);
  return word;
}

void widen8(std::uint64_t bytes, std::int32_t* out) {
  using Bytes [[gnu::vector_size(8)]] = unsigned char;
  using Integers [[gnu::vector_size(32)]] = std::int32_t;
  const auto wide = __builtin_convertvector(std::bit_cast<Bytes>(bytes), Integers);
  std::memcpy(out, &wide, sizeof wide);
}

// Decodes the varints of one list into its slot.
class Unpacker {
 public:
  Unpacker(std::string_view packed, const FeatureSlot& slot)
      : packed_(packed),
        slot_(slot),
        at_(packed.data()),
        end_(at_ + packed.size()),
        out_(slot.integers),
        out_end_(out_ + slot.count) {}

  // Decodes all varints. Returns whether they fill the slot exactly, with values in range.
  bool run() {
    return run_words() && run_singly() && out_ == out_end_ && at_ == end_ && in_range();
  }

 private:
  // Decodes eight bytes at a time, as long as eight bytes and room for eight values are left.
  // Returns false for a varint of more than 4 bytes.
  bool run_words() {
    while (end_ - at_ >= 8 && out_end_ - out_ >= 8) {
      const std::uint64_t word = load8(at_), stops = ~word & kTopBits;
      if (stops == kTopBits) {  // eight varints of one byte each
        widen8(word, out_);
        seen_bytes_ |= word;
        at_ += 8;
        out_ += 8;
        continue;
      }
      // Decodes two varints at a time, because the start of the second is known before the first is
      // decoded.
      const int first = std::countr_zero(stops) + 1;
      if (first > 32) return false;
      const std::uint64_t later = stops >> first;
      const int second = std::countr_zero(later) + 1;
      if (second > 32) return false;
      put(short_varint(word, stops));
      put(short_varint(word >> first, later));
      at_ += (first + second) / 8;
    }
    return true;
  }
  bool run_singly() {
    while (out_ < out_end_ && at_ < end_) {
      const std::uint64_t word = load_before(at_, packed_), stops = ~word & kTopBits;
      const int bits = std::countr_zero(stops) + 1;
      if (bits > 32 || bits > 8 * (end_ - at_)) return false;
      put(short_varint(word, stops));
      at_ += bits / 8;
    }
    return true;
  }
  void put(std::uint32_t value) {
    seen_ |= value;
    *out_++ = static_cast<std::int32_t>(value);
  }
  bool in_range() const {
    std::uint64_t seen = seen_;
    for (int shift = 0; shift < 64; shift += 8) seen |= seen_bytes_ >> shift & 0xFF;
    return static_cast<std::int64_t>(seen) < slot_.limit ||
           std::all_of(
               slot_.integers, out_end_, [&](std::int32_t value) { return value < slot_.limit; });
  }

  std::string_view packed_;
  const FeatureSlot& slot_;
  const char *at_, *end_;
  std::int32_t *out_, *out_end_;
  std::uint64_t seen_bytes_ = 0,
                seen_ = 0;  // bitwise OR of the values, which is at least their maximum
};

bool unpack(std::string_view packed, const FeatureSlot& slot) {
  if (slot.reals == nullptr) return Unpacker(packed, slot).run();
  if (packed.size() != slot.count * sizeof(float)) return false;
  if (slot.count > 0) std::memcpy(slot.reals, packed.data(), packed.size());
  return true;
}

}  // namespace

bool fill_slots(std::string_view message, std::span<const FeatureSlot> slots) {
  CHECK(slots.size() <= kMostSlots, slots.size());
  auto features = take_field(message, 1);
  if (!features || !message.empty()) return false;
  std::uint32_t filled = 0;
  for (std::size_t number = 0; !features->empty(); ++number) {
    auto entry = take_field(*features, 1);
    if (!entry) return false;
    const auto name = take_field(*entry, 1);
    if (!name) return false;
    // Most files have their features in the order of the slots, so that one is tried first.
    std::size_t slot = number < slots.size() && slots[number].name == *name ? number : 0;
    while (slot < slots.size() && slots[slot].name != *name) ++slot;
    if (slot == slots.size() || (filled >> slot & 1) != 0) return false;
    auto feature = take_field(*entry, 2);
    if (!feature || !entry->empty()) return false;
    auto list = take_field(*feature, slots[slot].reals == nullptr ? 3 : 2);
    if (!list || !feature->empty()) return false;
    const auto packed = take_field(*list, 1);
    if (!packed || !list->empty() || !unpack(*packed, slots[slot])) return false;
    filled |= std::uint32_t{1} << slot;
  }
  return std::popcount(filled) == static_cast<int>(slots.size());
}

}  // namespace smelt::io
