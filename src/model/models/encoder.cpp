#include "model/models/encoder.h"

#include <array>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::convert;
using compiler::DType;
using compiler::gather_rows;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

// Multi-head attention (Vaswani et al. 2017) with one matmul for q, k and v. Stores q and k in
// `queries_and_keys`.
Tensor self_attention(const Scope& s, const BertConfig& c, Tensor x, const AttentionMask& mask,
                      std::vector<Tensor>& queries_and_keys) {
  const auto B = x.dim(0), S = x.dim(1), N = c.num_attention_heads, D = head_width(c);
  const Init start = encoder_weights(c);
  const std::array layers{DenseLayer{s / "query", start}, DenseLayer{s / "key", start},
                          DenseLayer{s / "value", start}};
  const auto qkv = fused_dense(layers, x, N * D);
  const auto heads = [&](Tensor t) { return reshape(t, {B, S, N, D}); };
  const Tensor q = heads(qkv[0]), k = heads(qkv[1]), v = heads(qkv[2]);
  queries_and_keys = {q, k};
  const Tensor context = attention(s, {.q = q,
                                       .k = k,
                                       .v = v,
                                       .biases = mask.biases,
                                       .query_sequences = mask.sequences,
                                       .key_sequences = mask.sequences,
                                       .dropout = c.attention_probs_dropout_prob});
  return reshape(context, {B, S, N * D});
}

// Applies the last operations of an attention or feed-forward block: dense, dropout, residual,
// layer norm.
Tensor output_block(const Scope& s, const BertConfig& c, Tensor x, Tensor residual) {
  const Tensor projected = dense(s / "dense", x, c.hidden_size, encoder_weights(c));
  const Tensor dropped = dropout(s / "dropout", projected, c.hidden_dropout_prob);
  return layer_norm(s / "LayerNorm", dropped + residual, c.layer_norm_eps);
}

Tensor encoder_layer(const Scope& s, const BertConfig& c, Tensor x, const SelfAttention& attend,
                     std::vector<Tensor>& queries_and_keys) {
  const Tensor attended = attend(s / "attention" / "self", x, queries_and_keys);
  const Tensor a = output_block(s / "attention" / "output", c, attended, x);
  const Tensor f = activation(
      c.hidden_act, dense(s / "intermediate" / "dense", a, c.intermediate_size, encoder_weights(c)),
      c.gelu);
  return output_block(s / "output", c, f, a);
}

const std::vector<NamedDims>& named_dims() {
  static const std::vector<NamedDims> kTable{{"/word_embeddings", {"vocab", "embed"}},
                                             {"/token_type_embeddings", {"", "embed"}},
                                             {"/position_embeddings", {"", "embed"}},
                                             {"/query/kernel", {"embed", "heads"}},
                                             {"/query/bias", {"heads"}},
                                             {"/key/kernel", {"embed", "heads"}},
                                             {"/key/bias", {"heads"}},
                                             {"/value/kernel", {"embed", "heads"}},
                                             {"/value/bias", {"heads"}},
                                             {"/attention/output/dense/kernel", {"heads", "embed"}},
                                             {"/intermediate/dense/kernel", {"embed", "mlp"}},
                                             {"/intermediate/dense/bias", {"mlp"}},
                                             // after "/attention/output/…": the first match applies
                                             {"/output/dense/kernel", {"mlp", "embed"}}};
  return kTable;
}

}  // namespace

Init encoder_weights(const BertConfig& c) {
  return {.kind = Init::truncated_normal, .stddev = c.initializer_range};
}

void check_positions(std::string_view where, const BertConfig& c, std::int64_t S) {
  if (S > c.max_position_embeddings)
    throw UsageError(str(where, ": sequence length ", S, " is longer than max_position_embeddings ",
                         c.max_position_embeddings),
                     "create the data with shorter sequences, or increase max_position_embeddings");
}

// Returns [B,S,E] for one-hot segments [B,S,T]. Without segments returns the first row of the
// table, [1,E].
static Tensor embed_segments(const Tensor& table, const Tensor& one_hot_segments) {
  if (!one_hot_segments) return slice_axis(table, 0, 0, 1);
  return einsum("bst,te->bse", one_hot_segments, table);
}

// Returns the rows of the position table from the first token's on.
static Tensor token_positions(const BertConfig& c, const Tensor& table) {
  return c.position_offset > 0 ? slice_axis(table, 0, c.position_offset, table.dim(0)) : table;
}

// See section 3.1 of Devlin et al. 2019.
Tensor embed_tokens(const Scope& s, const BertConfig& c, std::int64_t E, const EncoderInputs& in) {
  const auto S = in.input_ids.dim(1);
  check_positions(s.path(), c, S);
  const Init start = encoder_weights(c);
  const Tensor words = s.parameter("word_embeddings", {c.vocab_size, E}, start);
  const Tensor types = s.parameter("token_type_embeddings", {c.type_vocab_size, E}, start);
  const Tensor positions =
      s.parameter("position_embeddings", {c.max_position_embeddings + c.position_offset, E}, start);
  Tensor type_one_hot;
  if (c.reads_segments) type_one_hot = one_hot(in.segment_ids, c.type_vocab_size, DType::f32);
  const Tensor rows = table(s, str(s.path(), "/word_embeddings"), words);
  const Tensor sum = gather_rows(rows, in.input_ids) + embed_segments(types, type_one_hot) +
                     rows_of_positions(token_positions(c, positions), in.positions, S);
  const Tensor normed = layer_norm(s / "LayerNorm", sum, c.layer_norm_eps);
  const Tensor dropped = dropout(s / "dropout", normed, c.hidden_dropout_prob);
  return convert(dropped, s.compute().dtype);
}

Tensor on_packed_rows(const Scope& s, const EncoderInputs& in,
                      const std::function<Tensor(const Scope&, const EncoderInputs&)>& layers) {
  if (!in.packing) return layers(s, in);
  CHECK(in.states == nullptr && !in.positions, s.path(), ": states of packed rows");
  const PackedRows rows(s, *in.packing, in.input_mask);
  const EncoderInputs packed{.input_ids = rows.packed(in.input_ids),
                             .input_mask = rows.packed(in.input_mask),
                             .segment_ids = rows.packed(in.segment_ids),
                             .positions = rows.positions(),
                             .sequences = rows.sequences()};
  return rows.unpacked(layers(rows.scope(s), packed));
}

AttentionMask attention_mask(const EncoderInputs& in) {
  if (in.sequences) return {.sequences = in.sequences};
  return {.biases = {attention_mask(in.input_mask)}};
}

Tensor attention_mask(Tensor mask) {
  const auto B = mask.dim(0), S = mask.dim(-1), Q = mask.rank() == 3 ? mask.dim(1) : 1;
  return reshape((1.0 - convert(mask, DType::f32)) * kMaskedScore, {B, 1, Q, S});
}

Tensor encode(const Scope& s, const BertConfig& c, Tensor x, const AttentionMask& mask,
              LayerStates* states) {
  const SelfAttention attend = [&](const Scope& layer, Tensor in, std::vector<Tensor>& qk) {
    return self_attention(layer, c, in, mask, qk);
  };
  return encode(s, c, x, attend, states);
}

Tensor encode(const Scope& s, const BertConfig& c, Tensor x, const SelfAttention& attend,
              LayerStates* states) {
  const auto B = x.dim(0), S = x.dim(1), H = c.hidden_size;
  x = constrain_batch_sharding(s, x);
  const LayerResults all = layer_stack_outputs(
      s, "layer", c.num_hidden_layers, {x.expect({B, S, H})},
      [&](const Scope& layer, const std::vector<Tensor>& in) -> compiler::ScanStep {
        std::vector<Tensor> queries_and_keys;
        const Tensor out = encoder_layer(layer, c, in[0], attend, queries_and_keys);
        return {.carry = {out}, .outputs = states_of_layer(states, out, queries_and_keys)};
      });
  if (states) take_states(*states, x, all.outputs);
  return all.carry[0];
}

Tensor gather_positions(Tensor sequence, Tensor positions) {
  // A matmul with one-hot rows, unlike a gather, needs no communication if the batch is sharded.
  const Tensor picked = one_hot(positions, sequence.dim(1), sequence.dtype());
  return einsum("bps,bsh->bph", picked, sequence);
}

LmHead tied_word_head(const Scope& s, Tensor x, Tensor words) {
  return {.rows = x, .words = words, .bias = s.parameter("output_bias", {words.dim(0)}, {})};
}

DimNames encoder_dim_names(const BertConfig& c, std::string_view parameter) {
  return dims_by_end(named_dims(), parameter, head_width(c));
}

}  // namespace smelt::model
