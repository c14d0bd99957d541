#include "model/models/deberta.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::constant;
using compiler::convert;
using compiler::DType;
using compiler::gather_rows;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

Init weights_of(const DebertaConfig& c) {
  return {.kind = Init::truncated_normal, .stddev = c.initializer_range};
}

// Returns the scope with random numbers that do not depend on the batch: relative embeddings have
// no row of the batch.
Scope outside_of_batch(const Scope& s) {
  std::optional<RandomSource> random = s.random_source();
  if (random) {
    random->first_row = {};
    random->row_stride = 1;
    random->rows = {};
    random->tokens = {};
  }
  return s.within(s.graph(), random);
}

// Relative positions of all layers. There are 2S-1 distances between the S tokens of a row, but
// fewer rows of relative embeddings, because far distances share a bucket.
struct RelativePositions {
  Tensor embeddings;  // f32 [K,H], K = 2 * relative_span()
  // [2S-1,K] in the scope's dtype: the one-hot rows of K for all distances, from the query that is
  // S-1 behind its key to the query that is S-1 before it.
  Tensor of_distances;
};

RelativePositions relative_positions(const Scope& s, const DebertaConfig& c, std::int64_t S) {
  const std::int64_t K = 2 * relative_span(c);
  std::vector<double> rows;
  for (std::int64_t i = 0; i < 2 * S - 1; ++i)
    rows.push_back(static_cast<double>(relative_row(c, S - 1 - i)));
  const Tensor ids = constant(s.graph(), rows, {DType::s32, {2 * S - 1}});
  Tensor embeddings = s.parameter("rel_embeddings", {K, c.hidden_size}, weights_of(c));
  if (c.norm_rel_ebd == "layer_norm")
    embeddings = layer_norm(s / "LayerNorm", embeddings, c.layer_norm_eps);
  return {.embeddings = embeddings, .of_distances = one_hot(ids, K, s.compute().dtype)};
}

// Sets relative_k and relative_q of attention. Each product of queries (or keys) with the relative
// positions of all distances is a matmul that is about twice as large as that of queries and keys;
// attention() then shifts its rows, so that no scores [B,N,S,S] are gathered. Choosing the rows by
// a one-hot matmul costs 2*(2S-1)*K*H operations, which is little compared with the layer's other
// matmuls.
void put_relative_positions(const Scope& s, const DebertaConfig& c, const RelativePositions& at,
                            AttentionInputs& in) {
  const auto N = c.num_attention_heads, D = c.hidden_size / N;
  const Tensor dropped = dropout(outside_of_batch(s / "pos_dropout"),
                                 s.graph().capture(at.embeddings), c.hidden_dropout_prob);
  const Tensor x = convert(dropped, s.compute().dtype);
  const Tensor distances = s.graph().capture(at.of_distances);
  const auto of_all_distances = [&](const char* shared, const char* own) {
    const Scope layer = c.share_att_key ? s.again("positions") / shared : s / own;
    const Tensor rows = einsum("wk,kh->wh", distances, dense(layer, x, N * D, weights_of(c)));
    return reshape(rows, {rows.dim(0), N, D});
  };
  if (has_content_to_position(c)) in.relative_k = of_all_distances("key_proj", "pos_key_proj");
  if (has_position_to_content(c)) in.relative_q = of_all_distances("query_proj", "pos_query_proj");
  in.products = 1 + (in.relative_k ? 1 : 0) + (in.relative_q ? 1 : 0);
}

// Disentangled attention (He et al. 2021, section 3.1). Stores q and k in `queries_and_keys`.
Tensor disentangled_attention(const Scope& s, const DebertaConfig& c, Tensor x,
                              const AttentionMask& mask, const RelativePositions& at,
                              std::vector<Tensor>& queries_and_keys) {
  const auto B = x.dim(0), S = x.dim(1), N = c.num_attention_heads, D = c.hidden_size / N;
  const Init start = weights_of(c);
  const std::array layers{DenseLayer{s / "query_proj", start}, DenseLayer{s / "key_proj", start},
                          DenseLayer{s / "value_proj", start}};
  const auto qkv = fused_dense(layers, x, N * D);
  const auto heads = [&](Tensor t) { return reshape(t, {B, S, N, D}); };
  AttentionInputs in{.q = heads(qkv[0]),
                     .k = heads(qkv[1]),
                     .v = heads(qkv[2]),
                     .biases = mask.biases,
                     .query_sequences = mask.sequences,
                     .key_sequences = mask.sequences,
                     .dropout = c.attention_probs_dropout_prob};
  queries_and_keys = {in.q, in.k};
  put_relative_positions(s, c, at, in);
  return reshape(attention(s, in), {B, S, N * D});
}

// Returns the embeddings [B,S,H] in the scope's dtype. Unlike transformers, does not set those of
// padding to zero, because no token attends to padding.
Tensor embedded_tokens(const Scope& s, const DebertaConfig& c, const EncoderInputs& in,
                       Tensor words) {
  const std::int64_t S = in.input_ids.dim(1), E = deberta_embedding_size(c), H = c.hidden_size;
  check_positions(s.path(), deberta_sizes(c), S);
  const std::string name = str(s.path(), "/word_embeddings");
  if (!words) words = s.parameter("word_embeddings", {c.vocab_size, E}, weights_of(c));
  Tensor x = gather_rows(table(s, name, words), in.input_ids);
  if (c.position_biased_input) {
    const Tensor positions =
        s.parameter("position_embeddings", {c.max_position_embeddings, E}, weights_of(c));
    x = x + rows_of_positions(positions, in.positions, S);
  }
  if (E != H) {
    const Scope project = s / "embed_proj";
    x = fused_matmul(project, x, {project.parameter("kernel", {E, H}, weights_of(c))})[0];
  }
  const Tensor normed = layer_norm(s / "LayerNorm", x, c.layer_norm_eps);
  return convert(dropout(s / "dropout", normed, c.hidden_dropout_prob), s.compute().dtype);
}

const std::vector<NamedDims>& deberta_dims() {
  static const std::vector<NamedDims> kTable{{"/word_embeddings", {"vocab", "embed"}},
                                             {"/word_embeddings_delta", {"vocab", "embed"}},
                                             {"/position_embeddings", {"", "embed"}},
                                             {"/rel_embeddings", {"", "embed"}},
                                             {"/embed_proj/kernel", {"", "embed"}},
                                             {"query_proj/kernel", {"embed", "heads"}},
                                             {"query_proj/bias", {"heads"}},
                                             {"key_proj/kernel", {"embed", "heads"}},
                                             {"key_proj/bias", {"heads"}},
                                             {"/value_proj/kernel", {"embed", "heads"}},
                                             {"/value_proj/bias", {"heads"}},
                                             {"/attention/output/dense/kernel", {"heads", "embed"}},
                                             {"/intermediate/dense/kernel", {"embed", "mlp"}},
                                             {"/intermediate/dense/bias", {"mlp"}},
                                             // after "/attention/output/…": the first match applies
                                             {"/output/dense/kernel", {"mlp", "embed"}},
                                             {"lm_head/dense/kernel", {"embed", ""}},
                                             {"lm_head/output_bias", {"vocab"}},
                                             {"mask_predictions/dense/kernel", {"embed", ""}}};
  return kTable;
}

}  // namespace

BertConfig deberta_sizes(const DebertaConfig& c) {
  return {.vocab_size = c.vocab_size,
          .hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .num_attention_heads = c.num_attention_heads,
          .intermediate_size = c.intermediate_size,
          .hidden_act = c.hidden_act,
          .hidden_dropout_prob = c.hidden_dropout_prob,
          .attention_probs_dropout_prob = c.attention_probs_dropout_prob,
          .max_position_embeddings = c.max_position_embeddings,
          .type_vocab_size = 1,
          .initializer_range = c.initializer_range,
          .gelu = Gelu::erf,
          .layer_norm_eps = c.layer_norm_eps,
          .reads_segments = false};
}

bool has_content_to_position(const DebertaConfig& c) {
  return c.pos_att_type.find("c2p") != std::string::npos;
}

bool has_position_to_content(const DebertaConfig& c) {
  return c.pos_att_type.find("p2c") != std::string::npos;
}

std::int64_t deberta_embedding_size(const DebertaConfig& c) {
  return c.embedding_size == 0 ? c.hidden_size : c.embedding_size;
}

std::int64_t largest_distance(const DebertaConfig& c) {
  return c.max_relative_positions < 1 ? c.max_position_embeddings : c.max_relative_positions;
}

std::int64_t relative_span(const DebertaConfig& c) {
  return c.position_buckets < 1 ? largest_distance(c) : c.position_buckets;
}

std::int64_t relative_row(const DebertaConfig& c, std::int64_t distance) {
  const std::int64_t span = relative_span(c), middle = span / 2;
  std::int64_t bucket = distance;
  if (const std::int64_t size = std::abs(distance); c.position_buckets >= 1 && size > middle) {
    // In f32, like transformers: at some distances the rounding decides about the bucket.
    const auto ratio = [&](double n) {
      return std::log(static_cast<float>(n / static_cast<double>(middle)));
    };
    const float share =
        ratio(static_cast<double>(size)) / ratio(static_cast<double>(largest_distance(c) - 1));
    const auto far =
        static_cast<std::int64_t>(std::ceil(share * static_cast<float>(middle - 1))) + middle;
    bucket = distance < 0 ? -far : far;
  }
  return std::clamp(bucket + span, std::int64_t{0}, 2 * span - 1);
}

Tensor deberta_sequence(const Scope& root, const DebertaConfig& c, const EncoderInputs& inputs,
                        Tensor words) {
  return on_packed_rows(root, inputs, [&](const Scope& s, const EncoderInputs& in) {
    const Tensor x = embedded_tokens(s / "embeddings", c, in, words);
    const AttentionMask mask = attention_mask(in);
    const RelativePositions at = relative_positions(s / "encoder", c, in.input_ids.dim(1));
    const SelfAttention attend = [&](const Scope& layer, Tensor rows, std::vector<Tensor>& qk) {
      return disentangled_attention(layer, c, rows, mask, at, qk);
    };
    return encode(s / "encoder", deberta_sizes(c), x, attend, in.states);
  });
}

LmHead deberta_word_head(const Scope& s, const DebertaConfig& c, Tensor sequence, Tensor positions,
                         Tensor words) {
  const auto B = positions.dim(0), P = positions.dim(1), H = c.hidden_size;
  const Tensor picked = reshape(gather_positions(sequence, positions), {B * P, H});
  const Tensor inner = dense(s / "dense", picked, deberta_embedding_size(c), weights_of(c));
  const Tensor hidden = activation(c.hidden_act, inner, Gelu::erf);
  return tied_word_head(s, layer_norm(s / "LayerNorm", hidden, c.layer_norm_eps), words);
}

Tensor deberta_replaced_logits(const Scope& s, const DebertaConfig& c, Tensor sequence) {
  const auto B = sequence.dim(0), S = sequence.dim(1), H = c.hidden_size;
  const Tensor sum = slice_axis(sequence, 1, 0, 1) + sequence;  // each token and the first one
  const Tensor normed = layer_norm(s / "LayerNorm", sum, c.layer_norm_eps);
  const Tensor hidden =
      activation(c.hidden_act, dense(s / "dense", normed, H, weights_of(c)), Gelu::erf);
  return reshape(dense(s / "classifier", in_f32(hidden), 1, weights_of(c)), {B, S});
}

DimNames deberta_dim_names(const DebertaConfig& c, std::string_view parameter) {
  return dims_by_end(deberta_dims(), parameter, c.hidden_size / c.num_attention_heads);
}

}  // namespace smelt::model
