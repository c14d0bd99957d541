// T5 1.0 and 1.1 (Raffel et al. 2020, section 2.1), an encoder-decoder: RMS norm before each block,
// no biases, relative position buckets shared by all layers of a stack, attention scores not
// divided by sqrt(D). Parameters have the original names except for the layer numbers:
// "encoder/block_0/layer_000/SelfAttention/q".
//   B batch   S encoder tokens   T decoder tokens   E d_model   N heads   D d_kv   F d_ff
//   V vocabulary
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/models/layer_states.h"
#include "model/models/t5_config.h"
#include "model/nn/lm_head.h"
#include "model/nn/scope.h"

namespace smelt::model {

// Returns the dimension names of a parameter for model/nn/partition_rules.h.
DimNames t5_dim_names(const T5Config& config, std::string_view parameter);

// Embeds ids s32 [B,S]: [B,S,E] in the scope's dtype. Declares the embedding table, or reuses it.
compiler::Tensor t5_embed(const Scope& root, const T5Config& config, compiler::Tensor ids);

// Applies the encoder, whose parameters are in "encoder/…", to embedded tokens [B,S,E] and returns
// [B,S,E]. `mask` s32 [B,S] is 0 for padding.
compiler::Tensor t5_encoder(const Scope& root, const T5Config& config, compiler::Tensor x,
                            compiler::Tensor mask, LayerStates* states = nullptr);

// The encoder's output, for cross-attention.
struct T5Encoded {
  compiler::Tensor states;  // [B,S,E]
  compiler::Tensor mask;    // s32 [B,S]
};
// Applies the decoder, whose parameters are in "decoder/…", to embedded tokens [B,T,E] and returns
// [B,T,E]. Each token attends to itself and earlier tokens, and to the encoder's output. If
// `encoded` is nullopt (decoder-only), there are no cross-attention layers.
compiler::Tensor t5_decoder(const Scope& root, const T5Config& config, compiler::Tensor x,
                            const std::optional<T5Encoded>& encoded, LayerStates* states = nullptr);

// Keys and values of an attention layer.
struct T5Keys {
  compiler::Tensor k, v;  // [B,S,N,D]
};

// Decodes one token at a time, up to T tokens, with a KV cache. Layers are unrolled.
class T5Decoding {
 public:
  // Declares the decoder's parameters.
  T5Decoding(const Scope& root, const T5Config& config, const T5Encoded& encoded, std::int64_t T);

  // Returns the empty KV cache, which a loop carries: for each layer keys [B,N,D,T], then values
  // [B,N,T,D].
  const std::vector<compiler::Tensor>& empty_cache() const { return cache_; }
  // Decodes one step inside a region: returns [B,E] for tokens s32 [B] at `position` (s32 scalar)
  // of the output, and updates `cache`.
  compiler::Tensor next(compiler::Graph& graph, compiler::Tensor ids, compiler::Tensor position,
                        std::vector<compiler::Tensor>& cache) const;

 private:
  Scope root_;
  T5Config config_;
  std::int64_t length_;
  compiler::Tensor bias_, encoded_bias_;  // [1,N,T,T], [B,1,1,S]
  std::vector<T5Keys> encoded_;           // [B,N,D,S], [B,N,S,D]
  std::vector<compiler::Tensor> cache_;
};

// Returns the LM head on the decoder's rows [I,E].
LmHead t5_word_head(const Scope& root, const T5Config& config, compiler::Tensor rows);

// Shifts ids s32 [B,T] to the right by one; 0 is the start token.
compiler::Tensor t5_decoder_inputs(compiler::Tensor targets);

// Applies encoder and decoder to the token ids `inputs` s32 [B,S], where 0 is padding, and
// `decoder_inputs` s32 [B,T]. Returns the decoder's output [B,T,E].
compiler::Tensor t5(const Scope& root, const T5Config& config, compiler::Tensor inputs,
                    compiler::Tensor decoder_inputs, LayerStates* encoder = nullptr,
                    LayerStates* decoder = nullptr);

// Returns the relative position bucket of a distance key - query, like T5's
// relative_position_bucket. `both_sides` is true in the encoder; the decoder has no later keys.
std::int64_t t5_bucket(const T5Config& config, std::int64_t distance, bool both_sides);

}  // namespace smelt::model
