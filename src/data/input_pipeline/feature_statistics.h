// Statistics of one feature over many records.
#pragma once

#include <cstdint>
#include <optional>

#include "io/formats/example.h"

namespace smelt::data {

template <class Number>
struct Range {
  Number smallest, largest;
};

struct FeatureStatistics {
  // Adds the feature's values in an example. The example must have the feature.
  void add(const io::Example& example);
  void add(const FeatureStatistics& others);

  io::ExampleFeature feature;    // name, kind and number of values in the first record
  std::uint64_t values = 0;      // in all records
  std::uint64_t zeros = 0;       // values that are zero, or byte strings that are empty
  std::uint64_t not_finite = 0;  // reals that are infinite or NaN
  // Ranges of the integers (or of the lengths of byte strings) and of the finite reals; unset if
  // there are no values.
  std::optional<Range<std::int64_t>> integers;
  std::optional<Range<float>> reals;
};

}  // namespace smelt::data
