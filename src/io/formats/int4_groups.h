// Matrices in four bits: each row [columns] in groups of neighbours, each group by a scale of its
// own, symmetric about 0, as compressed-tensors has it for weights of strategy "group"
// (quantization/utils/helpers.py, calculate_qparams): scale = max|x| / 7.5, code = x / scale
// rounded to the nearest, of two the even one, within -8 … 7. In memory as its format
// "pack-quantized" has them: eight codes of a row, each 8 larger, in a 32-bit word, the first in
// its lowest bits.
//   R rows   C columns   G columns of a group
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int8_rows.h"

namespace smelt {

inline constexpr std::int64_t kCodesOfWord = 8;

struct Int4Groups {
  std::vector<std::uint32_t> words;  // [R, C/8]
  std::vector<float> scales;         // [R, C/G]; never below 2^-23
};

// Of a group whose largest value, by size, is this.
float int4_scale(float most);
// -8 … 7
std::int8_t int4_code(float x, float scale);
// Codes [R,C] as words; 8 divides C.
std::vector<std::uint32_t> packed_int4(std::span<const std::int8_t> codes);

// Values [R,C] to the nearest codes; they must be finite, and G, a multiple of 8, divide C.
Int4Groups int4_groups(std::span<const float> values, std::size_t rows, std::size_t group);

// code * scale into `out`, as [R,C] or transposed, [C,R].
void put_int4_values(std::span<const std::uint32_t> words, std::span<const float> scales,
                     std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);

}  // namespace smelt
