// The encoder shared by BERT, ELECTRA and RoBERTa (modeling.py of google-research/bert and
// electra): the sum of three embeddings, then post-LN layers. Parameters have the original names.
//   B batch   S sequence   E embedding   H hidden   N heads   D head width   P positions
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "model/models/bert_config.h"
#include "model/models/layer_states.h"
#include "model/nn/attention.h"
#include "model/nn/lm_head.h"
#include "model/nn/packing.h"
#include "model/nn/scope.h"

namespace smelt::model {

constexpr double kLayerNormEpsilon = 1e-12;

// Returns the initializer of kernels and embedding tables.
Init encoder_weights(const BertConfig& config);

// Inputs of an encoder.
struct EncoderInputs {
  compiler::Tensor input_ids;    // s32 [B,S]
  compiler::Tensor input_mask;   // s32 [B,S]: 1 for tokens, 0 for padding
  compiler::Tensor segment_ids;  // s32 [B,S]
  compiler::Tensor positions =
      {};  // s32 [B,S], below max_position_embeddings; empty: 0 … S-1 in each row
  compiler::Tensor sequences =
      {};  // for packed rows: s32 [B,S], see AttentionInputs::key_sequences
  std::optional<Packing> packing = {};  // nullopt: the rows are not packed
  LayerStates* states = nullptr;        // if not null, receives the hidden states of the layers
};

// Throws UsageError that begins with `where` if S exceeds max_position_embeddings.
void check_positions(std::string_view where, const BertConfig& config, std::int64_t S);

// Returns the embeddings [B,S,E] in the scope's dtype: the sum of word, segment and position
// embeddings after layer norm and dropout. Throws like check_positions().
compiler::Tensor embed_tokens(const Scope& s, const BertConfig& config, std::int64_t E,
                              const EncoderInputs& inputs);

// Packs `in`, calls `layers` on the packed rows, and unpacks its result [R,S,H] to [B,S,H]. If
// in.packing is nullopt, calls `layers` on `in` itself. The scope that `layers` receives gives each
// token the random numbers that it has without packing.
compiler::Tensor on_packed_rows(
    const Scope& s, const EncoderInputs& in,
    const std::function<compiler::Tensor(const Scope& s, const EncoderInputs& in)>& layers);

// Determines which keys each query attends to. `biases` becomes AttentionInputs::biases;
// `sequences` becomes query_sequences and key_sequences (model/nn/attention.h).
struct AttentionMask {
  std::vector<compiler::Tensor> biases = {};
  compiler::Tensor sequences = {};
};
// Returns the mask with which tokens attend to all tokens of their sequence.
AttentionMask attention_mask(const EncoderInputs& in);

// Converts a mask to an f32 bias: 0 where a query may attend to a key, -10000 elsewhere. s32 [B,S]
// (per key) becomes [B,1,1,S]; s32 [B,S,S] (per query and key) becomes [B,1,S,S].
compiler::Tensor attention_mask(compiler::Tensor mask);

// Applies the encoder's layers, whose parameters are in scope `s`, to x [B,S,H] and returns
// [B,S,H].
compiler::Tensor encode(const Scope& s, const BertConfig& config, compiler::Tensor x,
                        const AttentionMask& mask, LayerStates* states = nullptr);
// The self-attention of a layer, whose parameters are in scope `s`: x [B,S,H] -> [B,S,N*D]. Stores
// q and k in `queries_and_keys`.
using SelfAttention = std::function<compiler::Tensor(
    const Scope& s, compiler::Tensor x, std::vector<compiler::Tensor>& queries_and_keys)>;
// Runs the layers like encode() above, but with `attend` as their self-attention.
compiler::Tensor encode(const Scope& s, const BertConfig& config, compiler::Tensor x,
                        const SelfAttention& attend, LayerStates* states = nullptr);

// Returns the rows of `sequence` [B,S,H] at `positions` s32 [B,P]: [B,P,H].
compiler::Tensor gather_positions(compiler::Tensor sequence, compiler::Tensor positions);

// Returns a masked-LM head on rows x [I,E] whose output weights are the embedding table `words`
// [V,E]. Declares "output_bias" in `s`.
LmHead tied_word_head(const Scope& s, compiler::Tensor x, compiler::Tensor words);

// Returns the dimension names of a parameter for model/nn/partition_rules.h, or an empty list if it
// does not belong to the encoder.
DimNames encoder_dim_names(const BertConfig& config, std::string_view parameter);

}  // namespace smelt::model
