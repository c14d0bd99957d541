#include "model/models/t5.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/models/encoder.h"
#include "model/nn/attention.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::DType;
using compiler::dynamic_slice;
using compiler::dynamic_update_slice;
using compiler::gather_rows;
using compiler::Graph;
using compiler::iota;
using compiler::pad;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::transpose;
using compiler::zeros_like;
namespace {

constexpr const char* kWords = "shared/embedding";

// The standard deviation of a standard normal distribution truncated at +-2.
constexpr double kTruncatedDeviation = 0.87962566103423978;

// Returns a truncated normal initializer whose variance, after truncation, is `variance` times
// initializer_factor^2. T5X's variance_scaling divides by the same constant; transformers does not
// truncate.
Init normal(const T5Config& c, double variance) {
  return {.kind = Init::truncated_normal,
          .stddev = c.initializer_factor * std::sqrt(variance) / kTruncatedDeviation};
}

double fan(std::int64_t width) { return 1.0 / static_cast<double>(width); }

// Returns the learned relative position bias of a stack, [1,N,Q,Q].
Tensor position_bias(const Scope& stack, const T5Config& c, std::int64_t Q, bool both_sides) {
  const Scope s = stack / "block_000" / "layer_000" / "SelfAttention";
  const Tensor table =
      s.parameter("relative_attention_bias", {c.num_heads, c.relative_attention_num_buckets},
                  normal(c, fan(c.d_model)));
  std::vector<double> buckets;
  for (std::int64_t distance = 1 - Q; distance < Q; ++distance)
    buckets.push_back(static_cast<double>(t5_bucket(c, distance, both_sides)));
  const Tensor of_distance = constant(s.graph(), buckets, {DType::s32, {std::ssize(buckets)}});
  const Tensor rows = gather_rows(transpose(table, {1, 0}), of_distance);
  return bias_of_distances(transpose(rows, {1, 0}), Q);
}

// Returns a bias [1,1,T,T] that is 0 for keys up to the query, and large and negative for later
// keys.
Tensor causal_bias(Graph& graph, std::int64_t T) {
  const Tensor query = iota(graph, {DType::s32, {T, T}}, 0),
               key = iota(graph, {DType::s32, {T, T}}, 1);
  const Tensor seen = convert(compare(key, query, Compare::le), DType::s32);
  return attention_mask(reshape(seen, {1, T, T}));
}

// The projections of an attention layer.
struct Kernels {
  Tensor q, k, v, o;
};

Kernels kernels(const Scope& s, const T5Config& c) {
  const auto N = c.num_heads, D = c.d_kv, E = c.d_model;
  return {.q = s.parameter("q", {E, N * D}, normal(c, fan(E * D))),
          .k = s.parameter("k", {E, N * D}, normal(c, fan(E))),
          .v = s.parameter("v", {E, N * D}, normal(c, fan(E))),
          .o = s.parameter("o", {N * D, E}, normal(c, fan(N * D)))};
}

Tensor in_heads(const T5Config& c, Tensor x) {
  return reshape(x, {x.dim(0), x.dim(1), c.num_heads, c.d_kv});
}

T5Keys keys_of(const Scope& s, const T5Config& c, const Kernels& w, Tensor x) {
  const auto kv = fused_matmul(s, x, {w.k, w.v});
  return {in_heads(c, kv[0]), in_heads(c, kv[1])};
}

// Applies attention to queries [B,Q,N D], with the output projection.
Tensor attend(const Scope& s, const T5Config& c, const Kernels& w, Tensor q, const T5Keys& keys,
              std::vector<Tensor> biases) {
  const Tensor context = attention(s, {.q = in_heads(c, q),
                                       .k = keys.k,
                                       .v = keys.v,
                                       .biases = std::move(biases),
                                       .dropout = c.dropout_rate,
                                       .scaled = false});
  return fused_matmul(s, reshape(context, q.dims()), {w.o})[0];
}

// Returns the keys and values that self-attention uses, given those of the current tokens. Reads
// and updates the KV cache during decoding; not needed in training.
using KvCacheUpdate = std::function<T5Keys(const T5Keys& own)>;

Tensor self_attention(const Scope& s, const T5Config& c, Tensor x,
                      const std::vector<Tensor>& biases, const KvCacheUpdate& with_cache = {}) {
  const Kernels w = kernels(s, c);
  const auto qkv = fused_matmul(s, x, {w.q, w.k, w.v});
  const T5Keys own{in_heads(c, qkv[1]), in_heads(c, qkv[2])};
  return attend(s, c, w, qkv[0], with_cache ? with_cache(own) : own, biases);
}

Tensor feed_forward(const Scope& s, const T5Config& c, Tensor x) {
  const auto kernel = [&](const char* name, std::int64_t in, std::int64_t out) {
    return (s / name).parameter("kernel", {in, out}, normal(c, fan(in)));
  };
  const auto E = c.d_model, F = c.d_ff;
  Tensor inner;
  if (c.is_gated()) {
    const auto halves = fused_matmul(s, x, {kernel("wi_0", E, F), kernel("wi_1", E, F)});
    inner = convert(gelu_tanh(in_f32(halves[0])) * in_f32(halves[1]), x.dtype());
  } else {
    inner = relu(fused_matmul(s, x, {kernel("wi", E, F)})[0]);
  }
  const Tensor dropped = dropout(s / "dropout", inner, c.dropout_rate);
  return fused_matmul(s, dropped, {kernel("wo", F, E)})[0];
}

// Applies a pre-norm residual block: norm, `block`, dropout, then the sum with x.
template <class Block>
Tensor residual(const Scope& s, const T5Config& c, Tensor x, const Block& block) {
  const Tensor normed = rms_norm(s / "layer_norm", x, c.layer_norm_epsilon);
  return x + dropout(s / "dropout", block(normed), c.dropout_rate);
}

Tensor begin_stack(const Scope& s, const T5Config& c, Tensor x) {
  return constrain_batch_sharding(s, dropout(s / "dropout", x, c.dropout_rate));
}

Tensor stack_of_blocks(const Scope& s, std::int64_t count, Tensor x,
                       const std::function<Tensor(const Scope& block, Tensor in)>& layer,
                       LayerStates* states) {
  const LayerResults all = layer_stack_outputs(
      s, "block", count, {x},
      [&](const Scope& block, const std::vector<Tensor>& in) -> compiler::ScanStep {
        const Tensor out = layer(block, in[0]);
        return {.carry = {out}, .outputs = states_of_layer(states, out, {})};
      });
  if (states) take_states(*states, x, all.outputs);
  return all.carry[0];
}

Tensor end_stack(const Scope& s, const T5Config& c, Tensor x) {
  const Tensor normed = rms_norm(s / "final_layer_norm", x, c.layer_norm_epsilon);
  return dropout(s / "final_dropout", normed, c.dropout_rate);
}

const std::vector<NamedDims>& t5_dims() {
  static const std::vector<NamedDims> kTable{
      {"shared/embedding", {"vocab", "embed"}}, {"Attention/q", {"embed", "heads"}},
      {"Attention/k", {"embed", "heads"}},      {"Attention/v", {"embed", "heads"}},
      {"Attention/o", {"heads", "embed"}},      {"/wi/kernel", {"embed", "mlp"}},
      {"/wi_0/kernel", {"embed", "mlp"}},       {"/wi_1/kernel", {"embed", "mlp"}},
      {"/wo/kernel", {"mlp", "embed"}},         {"decoder/logits/kernel", {"embed", "vocab"}}};
  return kTable;
}

}  // namespace

DimNames t5_dim_names(const T5Config& c, std::string_view parameter) {
  return dims_by_end(t5_dims(), parameter, c.d_kv);
}

std::int64_t t5_bucket(const T5Config& c, std::int64_t distance, bool both_sides) {
  std::int64_t buckets = c.relative_attention_num_buckets, first = 0;
  if (both_sides) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const auto part = [&](std::int64_t x) {
    return std::log(static_cast<float>(x) / static_cast<float>(exact));
  };
  const auto wide =
      static_cast<std::int64_t>(part(distance) / part(c.relative_attention_max_distance) *
                                static_cast<float>(buckets - exact));
  return first + std::min(exact + wide, buckets - 1);
}

Tensor t5_embed(const Scope& root, const T5Config& c, Tensor ids) {
  const Scope s = root / "shared";
  const Tensor words = s.parameter("embedding", {c.vocab_size, c.d_model}, normal(c, 1));
  return convert(gather_rows(table(s, kWords, words), ids), s.compute().dtype);
}

Tensor t5_encoder(const Scope& root, const T5Config& c, Tensor x, Tensor mask,
                  LayerStates* states) {
  const Scope s = root / "encoder";
  const std::vector<Tensor> biases{position_bias(s, c, x.dim(1), true), attention_mask(mask)};
  const auto layer = [&](const Scope& block, Tensor in) {
    in = residual(block / "layer_000", c, in, [&](Tensor y) {
      return self_attention(block / "layer_000" / "SelfAttention", c, y, biases);
    });
    return residual(block / "layer_001", c, in, [&](Tensor y) {
      return feed_forward(block / "layer_001" / "DenseReluDense", c, y);
    });
  };
  return end_stack(s, c, stack_of_blocks(s, c.num_layers, begin_stack(s, c, x), layer, states));
}

namespace {

// The inputs of the decoder's attention layers. The functions are called once per layer, in order.
struct DecoderContext {
  std::vector<Tensor> biases;  // for self-attention
  KvCacheUpdate with_cache;
  // Returns keys and values of the encoder output for cross-attention; empty: no cross-attention.
  std::function<T5Keys(const Scope& s, const Kernels& w)> encoded;
  Tensor encoded_bias;
};

Tensor decode(const Scope& root, const T5Config& c, Tensor x, const DecoderContext& context,
              LayerStates* states = nullptr) {
  const Scope s = root / "decoder";
  const auto layer = [&](const Scope& block, Tensor in) {
    in = residual(block / "layer_000", c, in, [&](Tensor y) {
      return self_attention(block / "layer_000" / "SelfAttention", c, y, context.biases,
                            context.with_cache);
    });
    if (context.encoded)
      in = residual(block / "layer_001", c, in, [&](Tensor y) {
        const Scope a = block / "layer_001" / "EncDecAttention";
        const Kernels w = kernels(a, c);
        const Tensor q = fused_matmul(a, y, {w.q})[0];
        return attend(a, c, w, q, context.encoded(a, w), {context.encoded_bias});
      });
    const Scope last = block / (context.encoded ? "layer_002" : "layer_001");
    return residual(last, c, in,
                    [&](Tensor y) { return feed_forward(last / "DenseReluDense", c, y); });
  };
  return end_stack(s, c,
                   stack_of_blocks(s, c.decoder_layers(), begin_stack(s, c, x), layer, states));
}

}  // namespace

Tensor t5_decoder(const Scope& root, const T5Config& c, Tensor x,
                  const std::optional<T5Encoded>& encoded, LayerStates* states) {
  const Scope s = root / "decoder";
  const std::int64_t T = x.dim(1);
  DecoderContext context{.biases = {position_bias(s, c, T, false), causal_bias(s.graph(), T)},
                         .with_cache = {},
                         .encoded = {},
                         .encoded_bias = {}};
  if (encoded) {
    context.encoded_bias = attention_mask(encoded->mask);
    context.encoded = [&](const Scope& a, const Kernels& w) {
      return keys_of(a, c, w, a.graph().capture(encoded->states));
    };
  }
  return decode(root, c, x, context, states);
}

// Convert keys and values to the layouts [B,N,D,S] and [B,N,S,D] of attention matmuls, and back.
// The KV cache has these layouts, so that it is not transposed for each token.
static T5Keys to_matmul_layout(const T5Keys& keys) {
  return {transpose(keys.k, {0, 2, 3, 1}), transpose(keys.v, {0, 2, 1, 3})};
}
static T5Keys from_matmul_layout(Tensor k, Tensor v) {
  return {transpose(k, {0, 3, 1, 2}), transpose(v, {0, 2, 1, 3})};
}

T5Decoding::T5Decoding(const Scope& root, const T5Config& c, const T5Encoded& encoded,
                       std::int64_t T)
    : root_(root.within(root.graph(), root.random_source())), config_(c), length_(T) {
  CHECK(root.compute().layers == Layers::unrolled, "decoding needs unrolled layers");
  const std::int64_t B = encoded.states.dim(0);
  const Tensor any = constant(root.graph(), 0, DType::s32, {B, T});
  // Declares the parameters; the result is not used.
  t5_decoder(root, c, t5_embed(root.again("decoder"), c, any), encoded);
  const Scope s = root_ / "decoder";
  bias_ = position_bias(s, c, T, false) + causal_bias(root.graph(), T);
  encoded_bias_ = attention_mask(encoded.mask);
  for (std::int64_t i = 0; i < c.decoder_layers(); ++i) {
    const Scope a = s / str("block_", i) / "layer_001" / "EncDecAttention";
    encoded_.push_back(to_matmul_layout(keys_of(a, c, kernels(a, c), encoded.states)));
    const auto empty = [&](std::int64_t rows, std::int64_t columns) {
      return constant(root.graph(), 0, encoded.states.dtype(), {B, c.num_heads, rows, columns});
    };
    cache_.insert(cache_.end(), {empty(c.d_kv, T), empty(T, c.d_kv)});
  }
}

Tensor T5Decoding::next(Graph& graph, Tensor ids, Tensor position,
                        std::vector<Tensor>& cache) const {
  const Scope root = root_.within(graph, root_.random_source());
  const Tensor zero = zeros_like(position);
  std::size_t own_layer = 0, encoded_layer = 0;
  const DecoderContext context{
      .biases = {dynamic_slice(graph.capture(bias_), {zero, zero, position, zero},
                               {1, config_.num_heads, 1, length_})},
      .with_cache =
          [&](const T5Keys& own) {
            Tensor& k = cache.at(2 * own_layer);
            Tensor& v = cache.at(2 * own_layer++ + 1);
            const T5Keys one = to_matmul_layout(own);
            k = dynamic_update_slice(k, one.k, {zero, zero, zero, position});
            v = dynamic_update_slice(v, one.v, {zero, zero, position, zero});
            return from_matmul_layout(k, v);
          },
      .encoded =
          [&](const Scope&, const Kernels&) {
            const T5Keys& keys = encoded_.at(encoded_layer++);
            return from_matmul_layout(graph.capture(keys.k), graph.capture(keys.v));
          },
      .encoded_bias = encoded_bias_};
  const Tensor x = t5_embed(root, config_, reshape(ids, {ids.dim(0), 1}));
  return reshape(decode(root, config_, x, context), {ids.dim(0), config_.d_model});
}

LmHead t5_word_head(const Scope& root, const T5Config& c, Tensor rows) {
  LmHead head{
      .rows = rows, .words = {}, .bias = constant(root.graph(), 0, DType::f32, {c.vocab_size})};
  if (c.tie_word_embeddings) {
    head.scale = std::sqrt(fan(c.d_model));
    head.words = root.shared(kWords);
  } else {
    const Scope s = root / "decoder" / "logits";
    head.words = transpose(
        s.parameter("kernel", {c.d_model, c.vocab_size}, normal(c, fan(c.d_model))), {1, 0});
  }
  return head;
}

Tensor t5_decoder_inputs(Tensor targets) {
  const std::int64_t T = targets.dim(1);
  return pad(slice_axis(targets, 1, 0, T - 1), 0, {0, 1}, {0, 0});
}

Tensor t5(const Scope& root, const T5Config& c, Tensor inputs, Tensor decoder_inputs,
          LayerStates* encoder, LayerStates* decoder) {
  const Tensor mask = convert(compare(inputs, zeros_like(inputs), Compare::ne), DType::s32);
  const Tensor states = t5_encoder(root, c, t5_embed(root, c, inputs), mask, encoder);
  const Tensor decoder_embedded = t5_embed(root.again("decoder"), c, decoder_inputs);
  return t5_decoder(root, c, decoder_embedded, T5Encoded{states, mask}, decoder);
}

}  // namespace smelt::model
