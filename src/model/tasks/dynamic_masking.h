// Dynamic masking: masks are drawn inside the graph in each step (google-research/electra
// pretrain_helpers.py). Each row has separate random bits (model/nn/random.h), so the masks do not
// depend on how the batch is sharded.
//   B batch   S sequence   N maximum masked tokens   V vocabulary
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/choice.h"
#include "model/nn/scope.h"

namespace smelt::model {

// How masked positions are drawn.
enum class MaskDraws {
  distinct,  // N different positions
  original,  // N independent draws, which may coincide, as in the original
};

inline constexpr NamedValues<MaskDraws, 2> kMaskDraws{
    {{"distinct", MaskDraws::distinct}, {"original", MaskDraws::original}}};
constexpr const auto& words_of(MaskDraws) { return kMaskDraws; }

// Settings of masking.
struct MaskingRule {
  double probability = 0.15;  // share of a row's tokens that are masked
  // The share at the last step: it changes linearly from `probability` to this value over `steps`
  // steps (Ankner et al. 2024). Evaluations always use this value. nullopt: the share is constant.
  std::optional<double> last_probability = {};
  std::int64_t steps = 0;
  std::int64_t most = 1;  // N
  std::int32_t mask_id = 0;
  std::vector<std::int32_t> kept_ids = {};  // tokens that are never masked
  MaskDraws draws = MaskDraws::distinct;
};

// Masked positions of a batch.
struct Masks {
  compiler::Tensor positions;  // s32 [B,N]; 0: unused
  compiler::Tensor ids;        // s32 [B,N]: original ids; 0 where unused
  compiler::Tensor weights;    // f32 [B,N]: 1 where used
};

// Returns s32 [B,S]: 1 where a token may be masked. Excludes padding, kept ids and position 0.
compiler::Tensor maskable(const MaskingRule& rule, compiler::Tensor input_ids,
                          compiler::Tensor input_mask);

// Draws round(probability * tokens) positions per row (half to even), at least 1 and at most N, but
// not more than there are maskable tokens.
Masks draw_masks(const Scope& s, const MaskingRule& rule, compiler::Tensor input_ids,
                 compiler::Tensor input_mask);

// Returns the ids with [MASK] at 85 % of the positions; the others keep their token.
compiler::Tensor put_masks(const Scope& s, const MaskingRule& rule, compiler::Tensor input_ids,
                           const Masks& masks);

// The result of replacing tokens.
struct Replaced {
  compiler::Tensor ids;    // s32 [B,S]
  compiler::Tensor where;  // s32 [B,S]: 1 where replaced
};

// Replaces the ids [B,S] at `positions` by tokens [B,N]; position 0 is ignored. Equal positions get
// the mean of their tokens, rounded down, like the original's scatter_update.
Replaced replace_tokens(compiler::Tensor ids, compiler::Tensor positions, compiler::Tensor tokens);

// Samples one id for each row of logits f32 [B,N,V] from softmax(logits): s32 [B,N]. Uses Gumbel
// noise (Gumbel 1954), like the original.
compiler::Tensor sample_ids(const Scope& s, compiler::Tensor logits);

}  // namespace smelt::model
