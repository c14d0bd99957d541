// T5, an encoder and a decoder (Raffel et al. 2020, section 2.1), 1.0 and 1.1: a norm by root mean
// square before each block, no biases, distances between tokens in buckets that all layers of a
// stack share, scores of attention that are not over sqrt(D). Parameters carry the original's names
// but for the layers' numbers, "encoder/block_0/layer_000/SelfAttention/q".
//   B batch   S tokens of the encoder   T of the decoder   E d_model   N heads   D d_kv   F d_ff
//   V vocabulary
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/models/layer_states.h"
#include "model/models/t5_config.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt {

// The names of a parameter's dimensions for model/nn/partition_rules.h.
DimNames t5_dim_names(const T5Config& config, std::string_view parameter);

// [B,S,E] in the scope's type of ids s32 [B,S]; declares the table of words, or uses it again.
Tensor t5_embed(const Scope& root, const T5Config& config, Tensor ids);

// "encoder/…": [B,S,E] of embedded tokens [B,S,E]; `mask` s32 [B,S] is 0 where there is none.
Tensor t5_encoder(const Scope& root, const T5Config& config, Tensor x, Tensor mask,
                  LayerStates* states = nullptr);

// What a decoder asks beside its own tokens.
struct T5Encoded {
  Tensor states;  // [B,S,E]
  Tensor mask;    // s32 [B,S]
};
// "decoder/…": [B,T,E] of embedded tokens [B,T,E], each of which knows those up to itself and what
// is encoded; of a decoder alone, without `encoded`, there are no such layers.
Tensor t5_decoder(const Scope& root, const T5Config& config, Tensor x,
                  const std::optional<T5Encoded>& encoded, LayerStates* states = nullptr);

struct T5Keys {
  Tensor k, v;  // [B,S,N,D]
};

// The decoder a token at a time, up to T tokens: keys and values of those before are kept, so that
// a step takes no more than attention over them must. Layers are unrolled.
class T5Decoding {
 public:
  // Declares the decoder's parameters.
  T5Decoding(const Scope& root, const T5Config& config, const T5Encoded& encoded, std::int64_t T);

  // Nothing said yet: of each layer keys [B,N,D,T], then values [B,N,T,D]; what a loop carries.
  const std::vector<Tensor>& memory() const { return memory_; }
  // In a region: [B,E] of tokens s32 [B] that are at `position` (s32 scalar) of the answer;
  // `memory` is as it is afterwards.
  Tensor next(Graph& graph, Tensor ids, Tensor position, std::vector<Tensor>& memory) const;

 private:
  Scope root_;
  T5Config config_;
  std::int64_t length_;
  Tensor bias_, encoded_bias_;   // [1,N,T,T], [B,1,1,S]
  std::vector<T5Keys> encoded_;  // [B,N,D,S], [B,N,S,D]
  std::vector<Tensor> memory_;
};

// What scores all words by the decoder's rows [I,E].
LmHead t5_word_head(const Scope& root, const T5Config& config, Tensor rows);

// Ids s32 [B,T] one to the right, behind a 0, which begins every answer.
Tensor t5_decoder_inputs(Tensor targets);

// Encoder and decoder: [B,T,E] of inputs s32 [B,S], 0 where there is no token, and what the
// decoder is told s32 [B,T].
Tensor t5(const Scope& root, const T5Config& config, Tensor inputs, Tensor decoder_inputs,
          LayerStates* encoder = nullptr, LayerStates* decoder = nullptr);

// The bucket of a distance key - query: of a decoder, keys behind the query are none (T5's
// relative_position_bucket).
std::int64_t t5_bucket(const T5Config& config, std::int64_t distance, bool both_sides);

}  // namespace smelt
