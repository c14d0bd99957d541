#include "compress/magnitude.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace smelt::compress {
namespace {

constexpr int kHalfBits = 16;
constexpr std::size_t kHalves = std::size_t{1} << kHalfBits;

// Returns an integer that orders finite floats by magnitude.
std::uint32_t size_bits(float x) { return std::bit_cast<std::uint32_t>(std::fabs(x)); }

// Returns the bin that contains the `wanted`-th largest value. Reduces `wanted` by the number of
// values in higher bins.
std::uint32_t place_of(const std::vector<std::uint64_t>& counts, std::uint64_t& wanted) {
  std::size_t place = counts.size() - 1;
  for (; counts[place] < wanted; --place) {
    CHECK(place > 0, wanted, " values too few");
    wanted -= counts[place];
  }
  return static_cast<std::uint32_t>(place);
}

}  // namespace

MagnitudeThreshold magnitude_cut(const EachMatrix& matrices, std::uint64_t kept) {
  std::vector<std::uint64_t> high(kHalves), low(kHalves);
  matrices([&](std::span<const float> values) {
    for (const float x : values) ++high[size_bits(x) >> kHalfBits];
  });
  std::uint64_t equal = kept;  // how many values equal to the threshold to keep
  const std::uint32_t upper = place_of(high, equal);
  matrices([&](std::span<const float> values) {
    for (const float x : values)
      if (size_bits(x) >> kHalfBits == upper) ++low[size_bits(x) % kHalves];
  });
  MagnitudeThreshold out;
  out.least = std::bit_cast<float>(upper << kHalfBits | place_of(low, equal));
  matrices([&](std::span<const float> values) {
    std::uint64_t above = 0, like = 0;
    for (const float x : values) {
      above += std::fabs(x) > out.least ? 1 : 0;
      like += std::fabs(x) == out.least ? 1 : 0;
    }
    out.of_equal.push_back(std::min(like, equal));
    equal -= out.of_equal.back();
    out.not_zero.push_back(above + (out.least > 0 ? out.of_equal.back() : 0));
  });
  return out;
}

void keep_largest(std::span<float> values, float least, std::uint64_t of_equal) {
  for (float& x : values) {
    const float size = std::fabs(x);
    if (size > least) continue;
    if (size == least && of_equal > 0)
      --of_equal;
    else
      x = 0;
  }
}

void keep_n_of_m(std::span<float> values, const model::NmPattern& nm) {
  const auto of = static_cast<std::size_t>(nm.of), kept = static_cast<std::size_t>(nm.kept);
  CHECK(of > 0 && kept <= of && values.size() % of == 0, values.size(), " in ", of);
  std::vector<bool> dropped(of);
  for (std::size_t at = 0; at < values.size(); at += of) {
    const auto group = values.subspan(at, of);
    dropped.assign(of, false);
    for (std::size_t n = kept; n < of; ++n) {
      std::size_t least = of;  // index of the smallest; of several equal ones the last
      for (std::size_t i = 0; i < of; ++i)
        if (!dropped[i] && (least == of || std::fabs(group[i]) <= std::fabs(group[least])))
          least = i;
      dropped[least] = true;
    }
    for (std::size_t i = 0; i < of; ++i)
      if (dropped[i]) group[i] = 0;
  }
}

}  // namespace smelt::compress
