#include "io/formats/bitmask_rows.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::io {
namespace {

constexpr std::size_t kPlacesOfByte = 8;

std::size_t bytes_of_row(std::size_t columns) {
  return (columns + kPlacesOfByte - 1) / kPlacesOfByte;
}

bool has_bit(std::span<const std::uint8_t> row, std::size_t column) {
  return (row[column / kPlacesOfByte] >> column % kPlacesOfByte & 1U) != 0;
}

}  // namespace

std::int64_t bitmask_bytes(std::int64_t columns) {
  return static_cast<std::int64_t>(bytes_of_row(static_cast<std::size_t>(columns)));
}

BitmaskRows bitmask_rows(std::span<const float> values, std::size_t rows) {
  CHECK(rows > 0 && values.size() % rows == 0, values.size(), " values in ", rows, " rows");
  const std::size_t columns = values.size() / rows, bytes = bytes_of_row(columns);
  BitmaskRows out;
  out.bits.resize(rows * bytes);
  for (std::size_t r = 0; r < rows; ++r) {
    out.offsets.push_back(static_cast<std::int64_t>(out.values.size()));
    for (std::size_t c = 0; c < columns; ++c) {
      const float x = values[r * columns + c];
      if (x == 0) continue;
      out.values.push_back(x);
      out.bits[r * bytes + c / kPlacesOfByte] |= static_cast<std::uint8_t>(1U << c % kPlacesOfByte);
    }
  }
  return out;
}

std::size_t count_bits(std::span<const std::uint8_t> bits, std::size_t rows, std::size_t columns) {
  const std::size_t bytes = bytes_of_row(columns);
  CHECK(bits.size() == rows * bytes, bits.size(), " bytes for ", rows, " rows of ", columns);
  std::size_t count = 0;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      count += has_bit(bits.subspan(r * bytes, bytes), c) ? 1 : 0;
  return count;
}

void put_bitmask_values(std::span<const float> values, std::span<const std::uint8_t> bits,
                        std::size_t rows, std::span<float> out, Laid laid) {
  CHECK(rows > 0 && out.size() % rows == 0, out.size(), " values in ", rows, " rows");
  const std::size_t columns = out.size() / rows, bytes = bytes_of_row(columns);
  CHECK(values.size() == count_bits(bits, rows, columns), values.size(), " values");
  std::ranges::fill(out, 0.0F);
  auto next = values.begin();
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c)
      if (has_bit(bits.subspan(r * bytes, bytes), c))
        out[laid == Laid::as_is ? r * columns + c : c * rows + r] = *next++;
}

}  // namespace smelt::io
