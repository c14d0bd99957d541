#include "io/formats/example_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "base/error.h"
#include "io/formats/example.h"

namespace smelt::io {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr std::int64_t kLimit = 30522;

// Memory for three features, to which the slots point.
struct Row {
  std::vector<std::int32_t> ids = std::vector<std::int32_t>(24),
                            label = std::vector<std::int32_t>(1);
  std::vector<float> weights = std::vector<float>(5);

  std::vector<FeatureSlot> slots() {
    return {{.name = "ids",
             .count = ids.size(),
             .integers = ids.data(),
             .limit = kLimit,
             .reals = nullptr},
            {.name = "weights",
             .count = weights.size(),
             .integers = nullptr,
             .limit = 0,
             .reals = weights.data()},
            {.name = "label",
             .count = label.size(),
             .integers = label.data(),
             .limit = 2,
             .reals = nullptr}};
  }
};

// Returns the row as the general reader reads it, or nullopt if the values do not fit the slots.
std::optional<Row> slow_row(const std::string& message) try {
  const Example example(message, "twin");
  Row row;
  const auto take = [](const std::vector<std::int64_t>& from, std::vector<std::int32_t>& to,
                       std::int64_t limit) {
    if (from.size() != to.size()) return false;
    if (std::ranges::any_of(from, [&](std::int64_t value) { return value < 0 || value >= limit; }))
      return false;
    std::ranges::copy(from, to.begin());
    return true;
  };
  if (!take(example.integers("ids"), row.ids, kLimit) ||
      !take(example.integers("label"), row.label, 2))
    return {};
  if (example.reals("weights").size() != row.weights.size()) return {};
  row.weights = example.reals("weights");
  return row;
} catch (const UsageError&) {
  return {};
}

// Draws random messages: half of them in the form that every writer uses, the others with oddities.
class Messages {
 public:
  explicit Messages(unsigned seed) : random_(seed) {}

  std::string draw() {
    odd_ = below(2) == 0;
    std::vector<std::string> entries{ids(), weights(), label()};
    if (odd(4)) std::ranges::shuffle(entries, random_);
    if (odd(8)) entries.push_back(ids());  // twice: the last wins
    if (odd(8)) entries.pop_back();
    if (odd(8)) entries.push_back(entry("other", 1, "\n\1x"));  // a feature with bytes
    WireWriter features, example;
    for (const std::string& entry : entries) features.bytes(1, entry);
    example.message(1, features);
    if (odd(8)) example.bytes(1, "");  // to be merged with the first
    if (odd(8)) example.varint(9, 1);
    std::string message = example.take();
    if (odd(4)) message[below(message.size())] = static_cast<char>(below(256));
    if (odd(8)) message.resize(below(message.size()));
    return message;
  }
  // Returns whether the last message has the form that every writer uses.
  bool usual() const { return !odd_; }

 private:
  std::size_t below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }
  bool odd(std::size_t chance) { return odd_ && below(chance) == 0; }
  // Returns a varint, which is sometimes not as short as possible.
  std::string varint(std::uint64_t value) {
    WireWriter out;
    out.raw_varint(value);
    std::string text = out.take();
    if (odd(32) && text.size() < 9) {
      text.back() = static_cast<char>(text.back() | 0x80);
      text += '\0';
    }
    return text;
  }
  std::uint64_t id() {
    if (odd(64)) return below(2) == 0 ? ~std::uint64_t{0} : kLimit + below(1u << 31);
    const std::size_t bits = below(15);
    return std::min<std::uint64_t>(below(std::size_t{1} << bits), kLimit - 1);
  }
  std::string entry(std::string_view name, std::uint32_t kind, std::string_view list) {
    WireWriter feature, entry;
    feature.bytes(kind, list);
    if (odd(16)) feature.bytes(kind, "");
    if (odd(8)) {
      entry.message(2, feature);
      entry.bytes(1, name);
    } else {
      entry.bytes(1, name);
      entry.message(2, feature);
    }
    return entry.take();
  }
  std::string ids() {
    WireWriter list;
    std::string packed;
    const std::size_t count = odd(8) ? below(40) : 24;
    const bool single = odd(8);
    for (std::size_t i = 0; i < count; ++i)
      if (single)
        list.varint(1, id());
      else
        packed += varint(id());
    if (!single) list.bytes(1, packed);
    return entry("ids", 3, list.text());
  }
  std::string weights() {
    WireWriter list, packed;
    for (int i = 0; i < 5; ++i)
      packed.raw_fixed32(std::bit_cast<std::uint32_t>(static_cast<float>(below(3))));
    list.message(1, packed);
    return entry("weights", 2, list.text());
  }
  std::string label() {
    WireWriter list;
    list.bytes(1, std::string(1, static_cast<char>(below(odd(8) ? 4 : 2))));
    return entry("label", 3, list.text());
  }

  std::mt19937 random_;
  bool odd_ = false;
};

TEST(ExampleSlots, MatchTheGeneralReaderOnRandomMessages) {
  Messages messages(1);
  int filled = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string message = messages.draw();
    const auto slow = slow_row(message);
    Row fast;
    if (!fill_slots(message, fast.slots())) {
      ASSERT_FALSE(messages.usual()) << i;  // the fast reader must accept the usual form
      ++refused;
      continue;
    }
    ++filled;
    ASSERT_TRUE(slow.has_value()) << i;
    ASSERT_THAT(fast.ids, ElementsAreArray(slow->ids)) << i;
    ASSERT_THAT(fast.label, ElementsAreArray(slow->label)) << i;
    ASSERT_THAT(fast.weights, ElementsAreArray(slow->weights)) << i;
  }
  EXPECT_GT(filled, 10000);
  EXPECT_GT(refused, 1000);
}

// Fills a slot from a message with one feature "x", whose list of integers has the bytes `packed`.
bool fill(const std::string& packed, std::vector<std::int32_t>& out, std::int64_t limit) {
  WireWriter list, feature, entry, features, example;
  list.bytes(1, packed);
  feature.message(3, list);
  entry.bytes(1, "x");
  entry.message(2, feature);
  features.message(1, entry);
  example.message(1, features);
  const FeatureSlot slot{
      .name = "x", .count = out.size(), .integers = out.data(), .limit = limit, .reals = nullptr};
  return fill_slots(example.text(), std::span(&slot, 1));
}

TEST(ExampleSlots, ReadVarintsOfEachLengthAtEachPosition) {
  for (std::size_t count = 1; count <= 20; ++count)
    for (std::size_t place = 0; place < count; ++place)
      for (const std::int32_t value :
           {0, 127, 128, 16383, 16384, 2097151, 2097152, (1 << 28) - 1}) {
        WireWriter packed;
        std::vector<std::int32_t> wanted(count, 7), out(count);
        wanted[place] = value;
        for (const std::int32_t v : wanted) packed.raw_varint(static_cast<std::uint64_t>(v));
        ASSERT_TRUE(fill(packed.text(), out, 1 << 28)) << count << " " << place << " " << value;
        ASSERT_EQ(out, wanted) << place;
        ASSERT_FALSE(fill(packed.text(), out,
                          std::ranges::max(wanted)));  // ids must be below the limit
        ASSERT_FALSE(fill(packed.text().substr(0, packed.text().size() - 1), out, 1 << 28));
        ASSERT_FALSE(fill(packed.text() + "\1", out, 1 << 28));
      }
}

TEST(ExampleSlots, CheckIdsAgainstLimitsThatAreNotPowersOfTwo) {
  std::vector<std::int32_t> out(8);
  EXPECT_TRUE(fill(std::string("\1\2\4\10\20\40\100\143", 8), out, 100));
  EXPECT_THAT(out, ElementsAre(1, 2, 4, 8, 16, 32, 64, 99));
  EXPECT_FALSE(fill(std::string("\1\2\4\10\20\40\100\144", 8), out, 100));
}

TEST(ExampleSlots, RejectATruncatedVarint) {
  std::vector<std::int32_t> out(3);
  EXPECT_FALSE(fill("\1\2\x80", out, 1000));
  out.resize(12);
  EXPECT_FALSE(fill(std::string(11, '\1') + "\x80", out, 1000));
}

}  // namespace
}  // namespace smelt::io
