// Masks drawn anew in every step, in the graph (google-research/electra pretrain_helpers.py). Each
// row draws by its own random bits (model/nn/random.h): the same however the batch is split.
//   B batch   S sequence   N masked tokens at most   V vocabulary
#pragma once

#include <cstdint>
#include <vector>

#include "base/choice.h"
#include "model/nn/scope.h"

namespace smelt {

enum class MaskDraws {
  distinct,  // N different positions
  original,  // each of the N by itself, so that some are the same: the original's way
};

inline constexpr NamedValues<MaskDraws, 2> kMaskDraws{
    {{"distinct", MaskDraws::distinct}, {"original", MaskDraws::original}}};
constexpr const auto& words_of(MaskDraws) { return kMaskDraws; }

struct MaskingRule {
  double probability = 0.15;  // of the tokens of a row
  std::int64_t most = 1;      // N
  std::int32_t mask_id = 0;
  std::vector<std::int32_t> kept_ids = {};  // never masked
  MaskDraws draws = MaskDraws::distinct;
};

struct Masks {
  Tensor positions;  // s32 [B,N]; 0 = none
  Tensor ids;        // s32 [B,N]: what stood there; 0 where there is none
  Tensor weights;    // f32 [B,N]: 1 = a position
};

// 1 where a token may be masked: s32 [B,S]. Not padding, not kept ids, not position 0.
Tensor maskable(const MaskingRule& rule, Tensor input_ids, Tensor input_mask);

// round(probability * tokens) positions of each row, at least 1 and at most N, as far as there are
// any to choose from; halves are rounded to even.
Masks draw_masks(const Scope& s, const MaskingRule& rule, Tensor input_ids, Tensor input_mask);

// The ids with [MASK] at 85 % of the positions; at the others the token stays.
Tensor put_masks(const Scope& s, const MaskingRule& rule, Tensor input_ids, const Masks& masks);

struct Replaced {
  Tensor ids;    // s32 [B,S]
  Tensor where;  // s32 [B,S]: 1 = replaced
};

// ids [B,S] with tokens [B,N] at `positions`; nothing happens at position 0. Where several fall
// together it is their mean, rounded down, as the original's scatter_update has it.
Replaced replace_tokens(Tensor ids, Tensor positions, Tensor tokens);

// One id for each row of logits f32 [B,N,V], by softmax(logits): s32 [B,N]. By Gumbel noise
// (Gumbel 1954), as the original draws.
Tensor sample_ids(const Scope& s, Tensor logits);

}  // namespace smelt
