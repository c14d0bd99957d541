// 4-bit matrices: each row [columns] consists of groups with one scale each, symmetric about 0, as
// in compressed-tensors' strategy "group" (quantization/utils/helpers.py, calculate_qparams): scale
// = max|x| / 7.5, code = x / scale rounded half to even, within -8 … 7. The layout is its format
// "pack-quantized": eight consecutive codes of a row in a 32-bit word. 8 is added to each code, and
// the first code is in the lowest bits.
//   R rows   C columns   G columns of a group
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int8_rows.h"

namespace smelt::io {

inline constexpr std::int64_t kCodesOfWord = 8;

struct Int4Groups {
  std::vector<std::uint32_t> words;  // [R, C/8]
  std::vector<float> scales;         // [R, C/G]; never below 2^-23
};

// Returns the scale of a group whose largest absolute value is `most`.
float int4_scale(float most);
// Returns the quantized value, -8 … 7.
std::int8_t int4_code(float x, float scale);
// Packs quantized values [R,C] into words; C must be a multiple of 8.
std::vector<std::uint32_t> packed_int4(std::span<const std::int8_t> codes);

// Quantizes values [R,C], which must be finite, to the nearest code; G must be a multiple of 8 and
// divide C.
Int4Groups int4_groups(std::span<const float> values, std::size_t rows, std::size_t group);

// Writes the dequantized values, code * scale, to `out` as [R,C] or transposed, [C,R].
void put_int4_values(std::span<const std::uint32_t> words, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);

}  // namespace smelt::io
