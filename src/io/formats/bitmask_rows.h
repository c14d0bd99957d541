// Sparse matrices: the nonzero values, row by row, and a bit for each element, in the format
// "sparse-bitmask" of compressed-tensors (compressors/sparse_compressors/sparse_bitmask.py).
//   R rows   C columns   K values other than 0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int8_rows.h"

namespace smelt::io {

struct BitmaskRows {
  std::vector<float> values;  // [K]
  std::vector<std::uint8_t>
      bits;  // [R, C/8 rounded up]: the first of eight elements is the lowest bit
  std::vector<std::int64_t> offsets;  // [R]: number of values in all earlier rows
};

// Encodes values [R,C].
BitmaskRows bitmask_rows(std::span<const float> values, std::size_t rows);

// Returns the number of mask bytes in a row.
std::int64_t bitmask_bytes(std::int64_t columns);

// Returns the number of set bits in a mask of [R,C]; ignores bits after the last column.
std::size_t count_bits(std::span<const std::uint8_t> bits, std::size_t rows, std::size_t columns);

// Decodes all values into `out`, as [R,C] or transposed, [C,R]. There must be one value for each
// set bit.
void put_bitmask_values(std::span<const float> values, std::span<const std::uint8_t> bits,
                        std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);

}  // namespace smelt::io
