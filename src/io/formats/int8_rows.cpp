#include "io/formats/int8_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace smelt::io {
namespace {

constexpr float kCodesToEachSide = 127.5F;
// Adding this constant to a small number and subtracting it again rounds the number to the nearest
// integer (halves to even), because the sum has no bits for a fraction. Faster than nearbyint().
constexpr float kToWhole = 0x1.8p23F;
constexpr float kLeastScale = std::numeric_limits<float>::epsilon();

}  // namespace

Int8Rows int8_rows(std::span<const float> values, std::size_t rows) {
  CHECK(rows > 0 && values.size() % rows == 0, values.size(), " values in ", rows, " rows");
  const std::size_t columns = values.size() / rows;
  Int8Rows out;
  out.codes.reserve(values.size());
  out.scales.reserve(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = values.subspan(r * columns, columns);
    float most = 0;
    for (const float x : row) most = std::max(most, std::fabs(x));
    CHECK(std::isfinite(most), "row ", r);
    const float scale = std::max(most / kCodesToEachSide, kLeastScale);
    out.scales.push_back(scale);
    for (const float x : row) {
      const float code = std::clamp(x / scale, -128.0F, 127.0F);
      out.codes.push_back(static_cast<std::int8_t>((code + kToWhole) - kToWhole));
    }
  }
  return out;
}

void put_int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid) {
  CHECK(rows > 0 && codes.size() % rows == 0 && (scales.size() == rows || scales.size() == 1) &&
            out.size() == codes.size(),
        codes.size(), " codes, ", rows, " rows, ", scales.size(), " scales");
  const std::size_t columns = codes.size() / rows;
  const auto scale_of = [&](std::size_t r) { return scales[scales.size() == 1 ? 0 : r]; };
  if (laid == Laid::as_is) {
    for (std::size_t r = 0; r < rows; ++r) {
      const float scale = scale_of(r);
      for (std::size_t i = r * columns; i < (r + 1) * columns; ++i)
        out[i] = static_cast<float>(codes[i]) * scale;
    }
    return;
  }
  constexpr std::size_t kBlock = 16;  // number of floats in a cache line
  for (std::size_t r0 = 0; r0 < rows; r0 += kBlock)
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t r = r0; r < std::min(r0 + kBlock, rows); ++r)
        out[c * rows + r] = static_cast<float>(codes[r * columns + c]) * scale_of(r);
}

std::vector<float> int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                               std::size_t rows) {
  std::vector<float> out(codes.size());
  put_int8_values(codes, scales, rows, out);
  return out;
}

double signal_to_noise_db(std::span<const float> values, std::span<const float> said) {
  CHECK(values.size() == said.size(), values.size(), " and ", said.size());
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i], error = x - said[i];
    signal += x * x;
    noise += error * error;
  }
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

double middle_to_noise_db(std::span<const float> values, std::span<const float> said,
                          std::size_t rows) {
  CHECK(rows > 0 && values.size() % rows == 0 && said.size() == values.size(), rows);
  const std::size_t columns = values.size() / rows;
  double noise = 0;
  std::size_t inexact = 0;
  std::vector<float> sizes(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    double error = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::size_t at = row * columns + i;
      const double lost = static_cast<double>(values[at]) - said[at];
      error += lost * lost;
      sizes[i] = std::abs(values[at]);
    }
    if (error == 0) continue;
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(columns / 2);
    std::ranges::nth_element(sizes, middle);
    noise += error / static_cast<double>(columns) / (static_cast<double>(*middle) * *middle);
    ++inexact;
  }
  if (inexact == 0) return std::numeric_limits<double>::infinity();
  return -10 * std::log10(noise / static_cast<double>(inexact));
}

}  // namespace smelt::io
