// What stands in one feature of many records.
#pragma once

#include <cstdint>
#include <optional>

#include "io/formats/example.h"

namespace smelt {

template <class Number>
struct Range {
  Number smallest, largest;
};

struct FeatureStatistics {
  // What the example holds in this feature, which it has.
  void add(const Example& example);
  void add(const FeatureStatistics& others);

  ExampleFeature feature;        // as the first record has it
  std::uint64_t values = 0;      // in all records
  std::uint64_t zeros = 0;       // of them; of byte strings, empty ones
  std::uint64_t not_finite = 0;  // reals that are infinite or no number
  // Of integers and of the lengths of byte strings; of finite reals. None when there are none.
  std::optional<Range<std::int64_t>> integers;
  std::optional<Range<float>> reals;
};

}  // namespace smelt
