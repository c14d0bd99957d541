// Random numbers inside the graph: a counter-based hash of a few 32-bit elementwise operations. It
// fuses into its users and is recomputed in the backward pass instead of stored. The same (seed,
// step, place, layer, stream, row, element) gives the same bits on every platform and any number of
// devices.
#pragma once

#include "model/nn/scope.h"

namespace smelt::model {

// The position of a block in a larger tensor: from index `first` (s32 scalar) of `whole` along
// `axis`, which is not the batch axis.
struct Block {
  std::int64_t axis = 0;
  compiler::Tensor first;
  std::int64_t whole = 0;
};

// Returns a u32 tensor of shape `dims` with 32 random bits per element. dims[0] indexes the rows of
// the batch (RandomSource). The scope must have a random source. If the tensor is a block of a
// larger one, its elements get the same bits as there. With RandomSource::tokens (packed rows),
// `dims` must be [R,S,...] or those of attention probabilities, [R,N,S,S]; a token then gets the
// same bits as in unpacked rows of S tokens.
compiler::Tensor random_bits(const Scope& s, const compiler::Dims& dims,
                             const std::optional<Block>& block = {});

// Returns a pred tensor of shape `dims`, each element false with probability `rate` in [0, 1).
// Cheaper than random_bits().
compiler::Tensor random_keep(const Scope& s, const compiler::Dims& dims, double rate,
                             const std::optional<Block>& block = {});

// Returns an f32 tensor of shape `dims` with uniform random multiples of 2^-24 in [0, 1).
compiler::Tensor uniform(const Scope& s, const compiler::Dims& dims);

}  // namespace smelt::model
