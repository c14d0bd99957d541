// Packed rows: a step's B padded sequences of up to S tokens are stored in R < B rows of S tokens,
// each sequence as a contiguous run of one row. Only the layers of an encoder work on packed rows;
// inputs are packed before them and their result is unpacked after them, so that objectives are the
// same as without packing. Tokens attend only to their own sequence, and positions and dropout are
// those of the unpacked sequence, so the values are the same up to rounding.
//   B sequences   S tokens per row   R rows   G shards of the batch   W slots per sequence, about
//   R*S/B
#pragma once

#include "model/nn/scope.h"

namespace smelt::model {

// The layout of a packed batch, which data/input_pipeline/pack.h computes. Each of the G shards of
// the batch has B/G sequences and R/G packed rows.
struct Packing {
  // s32 [B,W]: the slots of all rows, shard by shard. A slot holds the index of its token in its
  // shard's padded rows, sequence * S + position; or -1 for padding.
  compiler::Tensor tokens;
  // s32 [B]: the slot of each sequence's first token, counted within its shard.
  compiler::Tensor starts;
  // s32 [B]: the index that each sequence has in the whole batch without packing. Random numbers
  // depend on it (RandomSource::rows).
  compiler::Tensor rows;
};

class PackedRows {
 public:
  // `mask` s32 [B,S] is 1 for tokens and 0 for padding. The mesh of `s` determines the number of
  // shards.
  PackedRows(const Scope& s, const Packing& packing, compiler::Tensor mask);

  // Packs s32 [B,S] into [R,S]. Padding is 0.
  compiler::Tensor packed(compiler::Tensor values) const;
  // Unpacks [R,S,H] into [B,S,H]. Padding is 0.
  compiler::Tensor unpacked(compiler::Tensor x) const;
  // Returns s32 [R,S]: a number above 0 for the sequence of each token, 0 for padding.
  compiler::Tensor sequences() const { return sequences_; }
  // Returns s32 [R,S]: the position of each token in its sequence, 0 for padding.
  compiler::Tensor positions() const { return positions_; }
  // Returns the scope with the random numbers of the packed tokens.
  Scope scope(const Scope& s) const { return s.with_tokens(TokenOrigins{rows_, positions_}); }

 private:
  std::int64_t shards_;
  compiler::Dims dims_;         // [R,S]
  compiler::Tensor from_, to_;  // s32 [G,R/G*S] and [G,B/G*S]: see move_items()
  compiler::Tensor sequences_, positions_, rows_;
};

}  // namespace smelt::model
