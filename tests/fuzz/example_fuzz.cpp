#include <algorithm>
#include <array>

#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/example.h"
#include "io/formats/example_slots.h"

namespace smelt {
namespace {

constexpr std::int64_t kLimit = 70000;

std::string example(std::vector<std::int32_t> ids) {
  io::ExampleWriter writer;
  writer.integers("ids", ids);
  writer.reals("weights", std::array{0.5f, 1.0f});
  writer.integers("label", std::array{1});
  return writer.take();
}

// If the fast parser accepts the message, the general parser must find the same numbers.
void compare(std::string_view message) {
  std::array<std::int32_t, 12> ids{};
  std::array<float, 2> weights{};
  std::int32_t label = 0;
  const std::array slots{
      io::FeatureSlot{.name = "ids",
                      .count = ids.size(),
                      .integers = ids.data(),
                      .limit = kLimit,
                      .reals = nullptr},
      io::FeatureSlot{
          .name = "weights", .count = 2, .integers = nullptr, .limit = 0, .reals = weights.data()},
      io::FeatureSlot{
          .name = "label", .count = 1, .integers = &label, .limit = 2, .reals = nullptr}};
  if (!io::fill_slots(message, slots)) return;
  const io::Example slow(message, "input");
  CHECK(std::ranges::equal(slow.integers("ids"), ids));
  CHECK(std::ranges::all_of(ids, [](std::int32_t id) { return id >= 0 && id < kLimit; }));
  CHECK(slow.integers("label").size() == 1 && slow.integers("label")[0] == label &&
        (label == 0 || label == 1));
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  CHECK(std::ranges::equal(slow.reals("weights"), weights, {}, bits, bits));
}

}  // namespace

FuzzTarget fuzz_target() {
  io::ExampleWriter bytes;
  bytes.bytes("text", std::array<std::string, 2>{"some", ""});
  return {.seeds = {example({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                    example({69999, 300, 97, 16384, 0, 0, 0, 0, 0, 0, 0, 0}),
                    example({1 << 20, -1}), bytes.take()},
          .words = {"ids", "weights", "label", "\x1a", "\x12", "\x0a"},
          .repair = {},
          .memory_base = 8192,
          .memory_factor = 64};
}

}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string_view message = text_of(data, size);
  compare(message);
  try {
    const io::Example parsed(message, "input");
    for (const std::string& name : parsed.names())
      for (const int kind : {0, 1, 2}) try {
          if (kind == 0) (void)parsed.integers(name);
          if (kind == 1) (void)parsed.reals(name);
          if (kind == 2) (void)parsed.bytes(name);
        } catch (const UsageError&) {
        }
  } catch (const UsageError&) {
  }
  return 0;
}
