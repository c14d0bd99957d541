// Random numbers in the graph: a counter hash of a few 32-bit elementwise operations, which fuses
// into what uses it and is drawn again in the backward pass rather than stored. The same (seed,
// step, place, layer, stream, row, element) gives the same bits on every platform and on any number
// of devices.
#pragma once

#include "model/nn/scope.h"

namespace smelt {

// Where a block lies in a larger tensor: along `axis` (not the batch's) from `first` (s32 scalar)
// of `whole`.
struct Block {
  std::int64_t axis = 0;
  Tensor first;
  std::int64_t whole = 0;
};

// u32 `dims`, all 32 bits random; dims[0] counts the batch's rows (RandomSource). The scope must
// have a source. A block gets the bits that it has in the whole.
Tensor random_bits(const Scope& s, const Dims& dims, const std::optional<Block>& block = {});

// pred `dims`, false with probability `rate` in [0, 1): from the same bits, for less.
Tensor random_keep(const Scope& s, const Dims& dims, double rate,
                   const std::optional<Block>& block = {});

// f32 `dims` in [0, 1), multiples of 2^-24.
Tensor uniform(const Scope& s, const Dims& dims);

}  // namespace smelt
