#include "models/bert.h"

#include <array>

#include "base/error.h"
#include "nn/attention.h"
#include "nn/einsum.h"
#include "nn/layers.h"
#include "ops/ops.h"

namespace smelt {
namespace {

constexpr double kLayerNormEpsilon = 1e-12;
constexpr double kMaskedScore = -10000.0;

Init weights(const BertConfig& c) {
  return {.kind = Init::truncated_normal, .stddev = c.initializer_range};
}

// Sum of word, token-type and position embeddings, then layer norm and dropout (section 3.1).
Tensor embeddings(const Scope& s, const BertConfig& c, const BertInputs& in) {
  const auto S = in.input_ids.dim(1), H = c.hidden_size;
  if (S > c.max_position_embeddings)
    throw UsageError(str("bert: sequence length ", S, " is longer than max_position_embeddings ",
                         c.max_position_embeddings),
                     "make the data with a shorter --seq-length, or raise max_position_embeddings");
  const Tensor words = s.parameter("word_embeddings", {c.vocab_size, H}, weights(c));
  const Tensor types = s.parameter("token_type_embeddings", {c.type_vocab_size, H}, weights(c));
  const Tensor positions =
      s.parameter("position_embeddings", {c.max_position_embeddings, H}, weights(c));
  const Tensor type_one_hot = one_hot(in.segment_ids, c.type_vocab_size, DType::f32);
  const Tensor rows = table(s, str(s.path(), "/word_embeddings"), words);
  const Tensor sum = gather_rows(rows, in.input_ids) + einsum("bst,th->bsh", type_one_hot, types) +
                     slice_axis(positions, 0, 0, S);
  const Tensor normed = layer_norm(s / "LayerNorm", sum, kLayerNormEpsilon);
  const Tensor dropped = dropout(s / "dropout", normed, c.hidden_dropout_prob);
  return convert(dropped, s.compute().dtype);
}

// 0 where a key may be attended to, -10000 where it is padding: [B,1,1,S].
Tensor attention_mask(Tensor input_mask) {
  const auto B = input_mask.dim(0), S = input_mask.dim(1);
  return reshape((1.0 - convert(input_mask, DType::f32)) * kMaskedScore, {B, 1, 1, S});
}

// Multi-head attention of Vaswani et al. 2017; q, k and v in one matrix product.
Tensor self_attention(const Scope& s, const BertConfig& c, Tensor x, Tensor mask) {
  const auto B = x.dim(0), S = x.dim(1), H = c.hidden_size, N = c.num_attention_heads, D = H / N;
  const std::array scopes{s / "query", s / "key", s / "value"};
  const auto qkv = dense_together(scopes, x, H, weights(c));
  const auto heads = [&](Tensor t) { return reshape(t, {B, S, N, D}); };
  const Tensor q = heads(qkv[0]), k = heads(qkv[1]), v = heads(qkv[2]);
  const Tensor context = attention(
      s, {.q = q, .k = k, .v = v, .bias = mask, .dropout = c.attention_probs_dropout_prob});
  return reshape(context, {B, S, H});
}

// Dense, dropout, residual sum, layer norm: how both halves of a layer end (post-LN).
Tensor output_block(const Scope& s, const BertConfig& c, Tensor x, Tensor residual) {
  const Tensor projected = dense(s / "dense", x, c.hidden_size, weights(c));
  const Tensor dropped = dropout(s / "dropout", projected, c.hidden_dropout_prob);
  return layer_norm(s / "LayerNorm", dropped + residual, kLayerNormEpsilon);
}

Tensor encoder_layer(const Scope& s, const BertConfig& c, Tensor x, Tensor mask) {
  const Tensor attended = self_attention(s / "attention" / "self", c, x, mask);
  const Tensor a = output_block(s / "attention" / "output", c, attended, x);
  const Tensor f = activation(
      c.hidden_act, dense(s / "intermediate" / "dense", a, c.intermediate_size, weights(c)));
  return output_block(s / "output", c, f, a);
}

struct NamedDims {
  std::string_view end;  // of the parameter's name
  DimNames dims;
};

const std::vector<NamedDims>& named_dims() {
  static const std::vector<NamedDims> kTable{
      {"/word_embeddings", {"vocab", "embed"}},
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
      {"/output/dense/kernel", {"mlp", "embed"}},  // after attention's, which ends in it, too
      {"/pooler/dense/kernel", {"embed", ""}},
      {"/transform/dense/kernel", {"embed", ""}},
      {"/predictions/output_bias", {"vocab"}}};
  return kTable;
}

}  // namespace

DimNames bert_dim_names(const BertConfig& c, std::string_view parameter) {
  for (auto [end, dims] : named_dims()) {
    if (!parameter.ends_with(end)) continue;
    for (DimName& dim : dims)
      if (dim.name == "heads") dim.unit = c.hidden_size / c.num_attention_heads;
    return dims;
  }
  return {};
}

BertEncoded bert(const Scope& root, const BertConfig& c, const BertInputs& in) {
  const Scope s = root / "bert";
  const auto B = in.input_ids.dim(0), S = in.input_ids.dim(1), H = c.hidden_size;
  Tensor x = embeddings(s / "embeddings", c, in);
  const Tensor mask = attention_mask(in.input_mask);
  x = by_rows(s, x);
  x = layer_stack(s / "encoder", "layer", c.num_hidden_layers, x.expect({B, S, H}),
                  [&](const Scope& layer, Tensor in) { return encoder_layer(layer, c, in, mask); });
  const Tensor first = reshape(slice_axis(x, 1, 0, 1), {B, H});
  return {.sequence = x,
          .pooled = activation("tanh", dense(s / "pooler" / "dense", first, H, weights(c)))};
}

Tensor masked_lm_logits(const Scope& root, const BertConfig& c, Tensor sequence, Tensor positions) {
  const auto B = positions.dim(0), P = positions.dim(1), S = sequence.dim(1), H = c.hidden_size;
  const Scope s = root / "cls" / "predictions";
  // The gather as a product with one-hot rows: it stays on its own device when the batch is split.
  const Tensor picked =
      einsum("bps,bsh->bph", one_hot(positions, S, sequence.dtype()), sequence).expect({B, P, H});
  const Tensor transformed = activation(
      c.hidden_act, dense(s / "transform" / "dense", reshape(picked, {B * P, H}), H, weights(c)));
  const Tensor x = layer_norm(s / "transform" / "LayerNorm", transformed, kLayerNormEpsilon);
  const Tensor bias = s.parameter("output_bias", {c.vocab_size}, {});
  const Tensor words = root.shared("bert/embeddings/word_embeddings");
  return einsum("ih,vh->iv", x, rounded(words, x.dtype()), DType::f32) + bias;
}

Tensor next_sentence_logits(const Scope& root, const BertConfig& c, Tensor pooled) {
  const Scope s = root / "cls" / "seq_relationship";
  const Tensor kernel = s.parameter("output_weights", {2, c.hidden_size}, weights(c));
  return einsum("bh,ch->bc", in_f32(pooled), kernel) + s.parameter("output_bias", {2}, {});
}

}  // namespace smelt
