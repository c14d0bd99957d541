// Matrices in eight bits: each row [columns] by a scale of its own, symmetric about 0, as
// compressed-tensors has it for weights of strategy "channel" (quantization/utils/helpers.py,
// calculate_qparams) and PyTorch's observers: scale = max|x| / 127.5, code = x / scale rounded to
// the nearest, of two the even one, within -128 … 127. All of it in f32.
//   R rows   C columns
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace smelt {

struct Int8Rows {
  std::vector<std::int8_t> codes;  // [R,C]
  std::vector<float> scales;       // [R]; never below 2^-23
};

// `values` [R,C] must be finite.
Int8Rows int8_rows(std::span<const float> values, std::size_t rows);

// code * scale into `out`, as [R,C] or transposed, [C,R]. `scales` has one for each row, or one for
// all.
enum class Laid { as_is, transposed };
void put_int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);
std::vector<float> int8_values(std::span<const std::int8_t> codes, std::span<const float> scales,
                               std::size_t rows);

// Of what the codes say against what was: 10 log10 of the sum of squares over that of the errors;
// infinite where they say it exactly.
double signal_to_noise_db(std::span<const float> values, std::span<const float> said);

// The same with the square of each row's middle value by size for the signal, so that a value far
// above the others, which sets the scale that they are rounded by, is not taken for it: the mean
// over the rows that are not exact of error to signal. Minus infinity where a middle value is 0.
double middle_to_noise_db(std::span<const float> values, std::span<const float> said,
                          std::size_t rows);

}  // namespace smelt
