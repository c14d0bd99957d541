#include "data/input_pipeline/put_record.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "io/formats/example.h"
#include "io/formats/example_slots.h"

namespace smelt::data {
namespace {

constexpr std::size_t kNumberBytes = 4;  // size of s32 and f32

io::FeatureSlot slot_of(const io::Feature& feature, HostArray& array, std::int64_t rows,
                        std::size_t row) {
  const std::size_t count = array.bytes.size() / kNumberBytes / static_cast<std::size_t>(rows);
  io::FeatureSlot slot{.name = feature.name, .count = count, .limit = feature.limit};
  if (feature.dtype == compiler::DType::f32)
    slot.reals = array.values<float>().data() + row * count;
  else
    slot.integers = array.values<std::int32_t>().data() + row * count;
  return slot;
}

void check_count(const std::string& place, const io::FeatureSlot& slot, std::size_t count) {
  if (count != slot.count)
    throw UsageError(str(place, ": ", slot.name, " has ", count, " values, not ", slot.count),
                     "set the lengths to those that `smelt data inspect` shows, or make the data "
                     "again, with `smelt run` or `smelt data`");
}

void copy_integers(const io::Example& example, const std::string& place, const io::Feature& feature,
                   const io::FeatureSlot& slot) {
  const auto& values = example.integers(slot.name);
  check_count(place, slot, values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] >= slot.limit)
      throw UsageError(
          str(place, ": ", slot.name, "[", i, "] = ", values[i], " is out of range for ",
              feature.limit_name, " ", slot.limit),
          "make the data again with this vocabulary and these lengths, or use those of the data");
    slot.integers[i] = static_cast<std::int32_t>(values[i]);
  }
}

void copy_reals(const io::Example& example, const std::string& place, const io::FeatureSlot& slot) {
  const auto& values = example.reals(slot.name);
  check_count(place, slot, values.size());
  std::ranges::copy(values, slot.reals);
}

}  // namespace

void put_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                const io::Features& features, Batch& batch, std::size_t row) {
  CHECK(features.size() == batch.arrays.size() && features.size() <= io::kMostSlots,
        features.size());
  std::array<io::FeatureSlot, io::kMostSlots> all;
  const std::span slots(all.data(), features.size());
  for (std::size_t i = 0; i < slots.size(); ++i)
    slots[i] = slot_of(features[i], batch.arrays[i], batch.rows, row);
  if (io::fill_slots(data, slots)) return;
  const std::string place = index.place(record);
  const io::Example example(data, place);
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (features[i].dtype == compiler::DType::f32)
      copy_reals(example, place, slots[i]);
    else
      copy_integers(example, place, features[i], slots[i]);
}

}  // namespace smelt::data
