#include "io/formats/int4_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace smelt::io {
namespace {

constexpr float kInt4ToEachSide = 7.5F, kLeastInt4Scale = std::numeric_limits<float>::epsilon();
constexpr int kInt4Bits = 4, kInt4Offset = 8;
constexpr std::size_t kInt4OfWord = kCodesOfWord;

}  // namespace

float int4_scale(float most) { return std::max(most / kInt4ToEachSide, kLeastInt4Scale); }

std::int8_t int4_code(float x, float scale) {
  return static_cast<std::int8_t>(std::nearbyint(std::clamp(x / scale, -8.0F, 7.0F)));
}

std::vector<std::uint32_t> packed_int4(std::span<const std::int8_t> codes) {
  CHECK(codes.size() % kInt4OfWord == 0, codes.size());
  std::vector<std::uint32_t> words(codes.size() / kInt4OfWord);
  for (std::size_t i = 0; i < codes.size(); ++i)
    words[i / kInt4OfWord] |= static_cast<std::uint32_t>(codes[i] + kInt4Offset)
                              << kInt4Bits * (i % kInt4OfWord);
  return words;
}

Int4Groups int4_groups(std::span<const float> values, std::size_t rows, std::size_t group) {
  const std::size_t columns = values.size() / rows;
  CHECK(group % kInt4OfWord == 0 && columns % group == 0, columns, " columns in groups of ", group);
  std::vector<std::int8_t> codes(values.size());
  std::vector<float> scales;
  for (std::size_t at = 0; at < values.size(); at += group) {
    float most = 0;
    for (const float x : values.subspan(at, group)) most = std::max(most, std::fabs(x));
    CHECK(std::isfinite(most), "value ", at);
    scales.push_back(int4_scale(most));
    for (std::size_t i = at; i < at + group; ++i) codes[i] = int4_code(values[i], scales.back());
  }
  return {.words = packed_int4(codes), .scales = std::move(scales)};
}

void put_int4_values(std::span<const std::uint32_t> words, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid) {
  CHECK(rows > 0 && words.size() * kInt4OfWord == out.size() && !scales.empty() &&
            out.size() % scales.size() == 0,
        words.size(), " words, ", scales.size(), " scales, ", out.size(), " values");
  const std::size_t columns = out.size() / rows, group = out.size() / scales.size();
  const auto value = [&](std::size_t i) {
    const auto code =
        static_cast<int>(words[i / kInt4OfWord] >> kInt4Bits * (i % kInt4OfWord) & 0xFU) -
        kInt4Offset;
    return static_cast<float>(code) * scales[i / group];
  };
  if (laid == Laid::as_is) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = value(i);
    return;
  }
  constexpr std::size_t kBlock = 16;  // number of floats in a cache line
  for (std::size_t r0 = 0; r0 < rows; r0 += kBlock)
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = r0; r < std::min(r0 + kBlock, rows); ++r)
        out[c * rows + r] = value(r * columns + c);
}

}  // namespace smelt::io
