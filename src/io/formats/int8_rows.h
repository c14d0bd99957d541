// 8-bit matrices: each row [columns] has one scale, symmetric about 0, as in compressed-tensors'
// strategy "channel" (quantization/utils/helpers.py, calculate_qparams) and PyTorch's observers:
// scale = max|x| / 127.5, code = x / scale rounded half to even, within -128 … 127. Computed in
// f32.
//   R rows   C columns
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt::io {

struct Int8Rows {
  std::vector<std::int8_t> codes;  // [R,C]
  std::vector<float> scales;       // [R]; never below 2^-23
};

// Quantizes `values` [R,C], which must be finite.
Int8Rows int8_rows(std::span<const float> values, std::size_t rows);

// The layout of a decoded matrix: [R,C], or transposed [C,R].
enum class Laid { as_is, transposed };
// Writes the dequantized values, code * scale, to `out` in this layout. `scales` has one value per
// row, or one for all.
void put_int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);
std::vector<float> int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                               std::size_t rows);

// Returns the signal-to-noise ratio of dequantized values `said` in dB: 10 log10 of the sum of
// squared values over the sum of squared errors; infinite if there are no errors.
double signal_to_noise_db(std::span<const float> values, std::span<const float> said);

// Returns a signal-to-noise ratio in dB that ignores outliers: the signal of a row is the square of
// the median of its absolute values, so that a single large value, which determines the scale, does
// not count. The ratio of mean squared error to signal is averaged over the rows that have errors.
// Returns infinity if no row has errors, and minus infinity if a row with errors has the median 0.
double middle_to_noise_db(std::span<const float> values, std::span<const float> said,
                          std::size_t rows);

}  // namespace smelt::io
