#include "model/models/jestimator_bert.h"

#include <array>
#include <optional>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/models/encoder.h"
#include "model/nn/attention.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::concatenate;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::gather_rows;
using compiler::iota;
using compiler::reshape;
using compiler::rounded;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

const Init kZeros{};

Init random_weights(const JestimatorBertConfig& c) {
  return {.kind = Init::truncated_normal, .stddev = c.initializer_range};
}

// Position information shared by all layers.
struct Positions {
  std::vector<Tensor> biases;  // see AttentionInputs
  std::optional<Rotary> rotary;
};

// Extends rows for the distances -(M-1) … M-1 to -(S-1) … S-1. Larger distances use the outermost
// rows.
Tensor all_distances(Tensor x, std::int64_t S) {
  const std::int64_t rows = x.dim(0), M = (rows + 1) / 2, more = S - M;
  if (more <= 0) return slice_axis(x, 0, -more, rows + more);
  Dims dims = x.dims();
  dims[0] = more;
  return concatenate({broadcast_to(slice_axis(x, 0, 0, 1), dims), x,
                      broadcast_to(slice_axis(x, 0, rows - 1, rows), dims)},
                     0);
}

void add_relative(const Scope& s, const JestimatorBertConfig& c, AttentionInputs& in) {
  const auto S = in.k.dim(1), N = in.k.dim(2), D = in.k.dim(3);
  const std::int64_t rows = 2 * c.relative_attention_max_distance - 1;
  const Tensor table = s.parameter("relpos_embed", {rows, c.hidden_size}, random_weights(c));
  const auto projected = [&](const char* name, const Init& start) {
    const Scope again = (s / name).again("relative");
    const Tensor all = dense(again, rounded(table, in.q.dtype()), c.hidden_size, start);
    return all_distances(reshape(all, {rows, N, D}), S);
  };
  in.relative_k = projected("key", random_weights(c));
  in.relative_v = projected("value", kZeros);
}

Tensor jestimator_attention(const Scope& s, const JestimatorBertConfig& c, Tensor x,
                            const Positions& positions) {
  const auto B = x.dim(0), S = x.dim(1), H = c.hidden_size, N = c.num_heads, D = H / N;
  const std::array layers{DenseLayer{s / "query", kZeros}, DenseLayer{s / "key", random_weights(c)},
                          DenseLayer{s / "value", kZeros}};
  const auto qkv = fused_dense(layers, x, H);
  const auto heads = [&](Tensor t) { return reshape(t, {B, S, N, D}); };
  AttentionInputs in{.q = heads(qkv[0]),
                     .k = heads(qkv[1]),
                     .v = heads(qkv[2]),
                     .biases = positions.biases,
                     .dropout = c.attention_dropout_rate};
  if (positions.rotary) {
    in.q = rotated(in.q, *positions.rotary);
    in.k = rotated(in.k, *positions.rotary);
  }
  if (c.is_relative()) add_relative(s, c, in);
  return reshape(attention(s, in), {B, S, H});
}

// Applies the last operations of an attention or feed-forward block: dropout, residual, layer norm.
Tensor add_and_norm(const Scope& s, const JestimatorBertConfig& c, Tensor x, Tensor y) {
  const Tensor sum = x + dropout(s / "dropout", y, c.hidden_dropout_rate);
  return layer_norm(s / "layer_norm", sum, c.layer_norm_eps, kFlaxNorm);
}

Tensor jestimator_layer(const Scope& layer, const JestimatorBertConfig& c, Tensor x,
                        const Positions& positions) {
  const Scope a = layer / "attention_block", m = layer / "mlp_block";
  const Tensor attended = jestimator_attention(a / "attention_layer", c, x, positions);
  x = add_and_norm(a, c, x, dense(a / "attention_out", attended, c.hidden_size, random_weights(c)));
  const Tensor inner = activation(c.mlp_act, dense(m / "dense1", x, c.mlp_size, random_weights(c)));
  return add_and_norm(m, c, x, dense(m / "dense2", inner, c.hidden_size, kZeros));
}

// Declares the parameter "embedding" in `s`: f32 [rows,H].
Tensor embedding(const Scope& s, const JestimatorBertConfig& c, std::int64_t rows) {
  return s.parameter("embedding", {rows, c.hidden_size}, random_weights(c));
}

Tensor embed(const Scope& s, const JestimatorBertConfig& c, Tensor ids, Tensor at) {
  const Scope tokens = s / "token_embed";
  const Tensor words = embedding(tokens, c, c.vocab_size);
  Tensor sum = gather_rows(table(tokens, str(tokens.path(), "/embedding"), words), ids);
  if (c.variant == "bert")
    sum = sum + rows_of_positions(embedding(s / "position_embed", c, c.max_length), at, ids.dim(1));
  sum = sum + slice_axis(embedding(s / "segment_embed", c, c.num_segments), 0, 0, 1);
  const Tensor normed = layer_norm(s / "layer_norm", sum, c.layer_norm_eps, kFlaxNorm);
  return convert(dropout(s / "dropout", normed, c.hidden_dropout_rate), s.compute().dtype);
}

const std::vector<NamedDims>& jestimator_dims() {
  static const std::vector<NamedDims> kTable{{"/token_embed/embedding", {"vocab", "embed"}},
                                             {"/position_embed/embedding", {"", "embed"}},
                                             {"/segment_embed/embedding", {"", "embed"}},
                                             {"/relpos_embed", {"", "embed"}},
                                             {"/query/kernel", {"embed", "heads"}},
                                             {"/query/bias", {"heads"}},
                                             {"/key/kernel", {"embed", "heads"}},
                                             {"/key/bias", {"heads"}},
                                             {"/value/kernel", {"embed", "heads"}},
                                             {"/value/bias", {"heads"}},
                                             {"/attention_out/kernel", {"heads", "embed"}},
                                             {"/dense1/kernel", {"embed", "mlp"}},
                                             {"/dense1/bias", {"mlp"}},
                                             {"/dense2/kernel", {"mlp", "embed"}},
                                             {"mlm_head/dense/kernel", {"embed", ""}},
                                             {"mlm_head/bias", {"vocab"}}};
  return kTable;
}

}  // namespace

DimNames jestimator_bert_dim_names(const JestimatorBertConfig& c, std::string_view parameter) {
  return dims_by_end(jestimator_dims(), parameter, c.hidden_size / c.num_heads);
}

Tensor jestimator_bert(const Scope& root, const JestimatorBertConfig& c, Tensor ids, Tensor mask,
                       Tensor at) {
  const Scope s = root / "encoder";
  const auto B = ids.dim(0), S = ids.dim(1), H = c.hidden_size;
  if (S > c.max_length)
    throw UsageError(
        str(s.path(), ": sequence length ", S, " is longer than max_length ", c.max_length),
        "shorten the sequences or raise max_length");
  Positions positions;
  if (mask) positions.biases = {attention_mask(mask)};
  if (c.is_rope())
    positions.rotary = rotary(
        at ? convert(at, DType::f32) : iota(root.graph(), {DType::f32, {S}}, 0), H / c.num_heads);
  const Tensor x = constrain_batch_sharding(s, embed(s / "embedder_block", c, ids, at));
  return layer_stack(
      s / "encoder_block", "layers", c.num_layers, x.expect({B, S, H}),
      [&](const Scope& layer, Tensor in) { return jestimator_layer(layer, c, in, positions); });
}

LmHead jestimator_word_head(const Scope& root, const JestimatorBertConfig& c, Tensor rows) {
  const Scope s = root / "mlm_head";
  const Tensor hidden = activation(c.mlp_act, dense(s / "dense", rows, c.hidden_size, kZeros));
  return {.rows = layer_norm(s / "layer_norm", hidden, c.layer_norm_eps, kFlaxNorm),
          .words = root.shared("encoder/embedder_block/token_embed/embedding"),
          .bias = s.parameter("bias", {c.vocab_size}, kZeros)};
}

}  // namespace smelt::model
