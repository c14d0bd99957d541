#include "data/input_pipeline/feature_statistics.h"

#include <algorithm>
#include <cmath>

namespace smelt::data {
namespace {

template <class Number>
void widen(std::optional<Range<Number>>& range, Range<Number> by) {
  if (!range) range = by;
  range = {std::min(range->smallest, by.smallest), std::max(range->largest, by.largest)};
}

template <class Number>
void count(FeatureStatistics& s, std::optional<Range<Number>>& range, Number value) {
  ++s.values;
  s.zeros += value == 0 ? 1 : 0;
  widen(range, {value, value});
}

}  // namespace

void FeatureStatistics::add(const io::Example& example) {
  switch (feature.kind) {
    case io::ExampleKind::integers:
      for (const std::int64_t value : example.integers(feature.name)) count(*this, integers, value);
      break;
    case io::ExampleKind::bytes:
      for (const std::string& value : example.bytes(feature.name))
        count(*this, integers, static_cast<std::int64_t>(value.size()));
      break;
    case io::ExampleKind::reals:
      for (const float value : example.reals(feature.name)) {
        if (std::isfinite(value))
          count(*this, reals, value);
        else
          ++values, ++not_finite;
      }
      break;
    case io::ExampleKind::none:
      break;
  }
}

void FeatureStatistics::add(const FeatureStatistics& others) {
  values += others.values;
  zeros += others.zeros;
  not_finite += others.not_finite;
  if (others.integers) widen(integers, *others.integers);
  if (others.reals) widen(reals, *others.reals);
}

}  // namespace smelt::data
