// Sparse matrices: the nonzero values, row by row, and a bit for each element, in the format
// "sparse-bitmask" of compressed-tensors (compressors/sparse_compressors/sparse_bitmask.py).
//   R rows   C columns   K values other than 0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/formats/int8_rows.h"

namespace smelt {

struct BitmaskRows {
  std::vector<float> values;       // [K]
  std::vector<std::uint8_t> bits;  // [R, C/8 rounded up]: of eight places the first is the lowest
  std::vector<std::int64_t> offsets;  // [R]: how many values the rows before have
};

// Converts values [R,C].
BitmaskRows bitmask_rows(std::span<const float> values, std::size_t rows);

// Bytes of bits that a row has.
std::int64_t bitmask_bytes(std::int64_t columns);

// How many places of [R,C] have a bit; bits behind the last column are passed over.
std::size_t count_bits(std::span<const std::uint8_t> bits, std::size_t rows, std::size_t columns);

// All values into `out`, as [R,C] or transposed, [C,R]; there are as many values as bits.
void put_bitmask_values(std::span<const float> values, std::span<const std::uint8_t> bits,
                        std::size_t rows, std::span<float> out, Laid laid = Laid::as_is);

}  // namespace smelt
