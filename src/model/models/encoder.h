// The encoder that BERT and ELECTRA share (modeling.py of google-research/bert and electra): summed
// embeddings, then post-LN layers. Parameters carry the originals' names.
//   B batch   S sequence   E embedding   H hidden   N heads   D width of a head   P picked
//   positions
#pragma once

#include <string_view>

#include "model/models/bert_config.h"
#include "model/models/layer_states.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt {

constexpr double kLayerNormEpsilon = 1e-12;
constexpr double kMaskedScore = -10000.0;  // is added where a key may not be attended to

// How weights of products and tables start.
Init encoder_weights(const BertConfig& config);

struct EncoderInputs {
  Tensor input_ids;       // s32 [B,S]
  Tensor input_mask;      // s32 [B,S]: 1 = a token, 0 = padding
  Tensor segment_ids;     // s32 [B,S]
  Tensor positions = {};  // s32 [B,S] below max_position_embeddings; empty: 0 … S-1 in each row
  LayerStates* states = nullptr;  // receives what the layers give, where somebody asks
};

// UsageError, which `where` begins, when S tokens are more than max_position_embeddings.
void check_positions(std::string_view where, const BertConfig& config, std::int64_t S);

// [B,S,E] in the scope's type: words, token types and positions, normed and dropped out. S as
// check_positions() has it.
Tensor embed_tokens(const Scope& s, const BertConfig& config, std::int64_t E,
                    const EncoderInputs& inputs);

// 0 where a key may be attended to, -10000 where not: f32 [B,1,1,S] from a mask s32 [B,S] of keys,
// [B,1,S,S] from one of queries and keys [B,S,S].
Tensor attention_mask(Tensor mask);

// The layers below `s`: [B,S,H] -> [B,S,H]. `mask` is added to scores [B,N,S,S].
Tensor encode(const Scope& s, const BertConfig& config, Tensor x, Tensor mask,
              LayerStates* states = nullptr);

// The rows of `sequence` [B,S,H] at `positions` s32 [B,P]: [B,P,H].
Tensor gather_positions(Tensor sequence, Tensor positions);

// The end of a masked-LM head on rows x [I,E], whose words [V,E] are the table of embeddings.
// Declares "output_bias" in `s`.
LmHead tied_word_head(const Scope& s, Tensor x, Tensor words);

// The names of a parameter's dimensions for model/nn/partition_rules.h; none for what is not the
// encoder's.
DimNames encoder_dim_names(const BertConfig& config, std::string_view parameter);

}  // namespace smelt
