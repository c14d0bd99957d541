// ModernBERT (Warner et al. 2024) as an encoder family: pre-norm layers without biases, rotary
// positions, gated feed-forward layers, and attention that alternates between all tokens and a
// window around each token.
//   B batch   S sequence   H hidden   N heads   D head width   I feed-forward width
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest_name.h"
#include "compiler/ops/ops.h"
#include "io/formats/config.h"
#include "model/models/modernbert_config.h"
#include "model/nn/layers.h"
#include "model/nn/local_attention.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::DType;
using compiler::Graph;
using compiler::Shape;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

constexpr NormNames kScaleOnly{.shift = nullptr};

Init random_weights(double stddev) { return {.kind = Init::truncated_normal, .stddev = stddev}; }

// Returns the initializer of the matmuls that add to the residual stream.
Init output_weights(const ModernbertConfig& c) {
  return random_weights(c.initializer_range /
                        std::sqrt(2.0 * static_cast<double>(c.num_hidden_layers)));
}

// Dense layer without bias.
Tensor linear(const Scope& s, Tensor x, std::int64_t out, const Init& start) {
  return fused_matmul(s, x, {s.parameter("kernel", {x.dim(-1), out}, start)})[0];
}

// Attention inputs that layers of one kind share.
struct Reach {
  AttentionMask mask;
  Rotary rotary;
  std::optional<std::int64_t> window;  // if set, tokens attend to tokens at most this far away
};

// The attention inputs of all layers.
class Reaches {
 public:
  Reaches(const ModernbertConfig& c, const EncoderInputs& in) : c_(c) {
    const std::int64_t S = in.input_ids.dim(1), D = c.hidden_size / c.num_attention_heads;
    Graph& graph = in.input_ids.graph();
    const AttentionMask mask = attention_mask(in);
    const Tensor at =
        in.positions ? convert(in.positions, DType::f32) : iota(graph, {DType::f32, {S}}, 0);
    global_ = {mask, rotary(at, D, c.global_rope_theta), {}};
    local_ = {mask, rotary(at, D, c.local_rope_theta), c.local_attention / 2};
    window_bias_ = window_bias(graph, S, S, 0, *local_.window);
  }

  // Layers in a scan are one piece of graph, which selects its inputs by the layer's number.
  Reach of_layer(const Scope& layer) const {
    if (const auto index = layer.layer_index())
      return is_global_layer(c_, *index) ? global_ : local_;
    const Tensor number = layer.layer();
    const Tensor n = full_like(number, static_cast<double>(c_.global_attn_every_n_layers));
    const Tensor is_local = compare(number - number / n * n, zeros_like(number), Compare::ne);
    const auto chosen = [&](Tensor local, Tensor global) {
      return select(broadcast_to(is_local, local.dims()), layer.graph().capture(local),
                    layer.graph().capture(global));
    };
    Reach out{.mask = local_.mask, .rotary = {}, .window = {}};
    out.mask.biases.push_back(convert(is_local, DType::f32) * layer.graph().capture(window_bias_));
    out.rotary = {chosen(local_.rotary.cos, global_.rotary.cos),
                  chosen(local_.rotary.sin, global_.rotary.sin)};
    return out;
  }

 private:
  const ModernbertConfig& c_;
  Reach global_, local_;
  Tensor window_bias_;  // of local layers, for layers in a scan
};

// Multi-head attention with one matmul for queries, keys and values, whose heads it stores in
// `queries_and_keys`.
Tensor self_attention(const Scope& s, const ModernbertConfig& c, Tensor x, const Reach& reach,
                      std::vector<Tensor>& queries_and_keys) {
  const auto B = x.dim(0), S = x.dim(1), H = c.hidden_size, N = c.num_attention_heads, D = H / N;
  const Tensor qkv =
      reshape(linear(s / "qkv", x, 3 * H, random_weights(c.initializer_range)), {B, S, 3 * N, D});
  const auto heads = [&](std::int64_t part) {
    return slice_axis(qkv, 2, part * N, (part + 1) * N);
  };
  const Tensor q = rotated(heads(0), reach.rotary), k = rotated(heads(1), reach.rotary);
  queries_and_keys = {q, k};
  const AttentionInputs in{.q = q,
                           .k = k,
                           .v = heads(2),
                           .biases = reach.mask.biases,
                           .query_sequences = reach.mask.sequences,
                           .key_sequences = reach.mask.sequences,
                           .dropout = c.attention_dropout};
  const Tensor context = reach.window ? local_attention(s, in, *reach.window) : attention(s, in);
  const Tensor out =
      linear(s / "output" / "dense", reshape(context, {B, S, H}), H, output_weights(c));
  return dropout(s / "output" / "dropout", out, c.attention_output_dropout);
}

// GeGLU (Shazeer 2020): the first half of the wide matmul is activated and multiplied by the
// second.
Tensor feed_forward(const Scope& s, const ModernbertConfig& c, Tensor x) {
  const auto I = c.intermediate_size;
  const Tensor wide =
      in_f32(linear(s / "input" / "dense", x, 2 * I, random_weights(c.initializer_range)));
  const Tensor gated = activation(c.hidden_activation, slice_axis(wide, 2, 0, I), Gelu::erf) *
                       slice_axis(wide, 2, I, 2 * I);
  const Tensor inner = dropout(s / "dropout", convert(gated, x.dtype()), c.mlp_dropout);
  return linear(s / "output" / "dense", inner, c.hidden_size, output_weights(c));
}

const std::vector<NamedDims>& modernbert_dims() {
  static const std::vector<NamedDims> kTable{{"/word_embeddings", {"vocab", "embed"}},
                                             {"/attention/qkv/kernel", {"embed", "heads"}},
                                             {"/attention/output/dense/kernel", {"heads", "embed"}},
                                             {"/mlp/input/dense/kernel", {"embed", "mlp"}},
                                             {"/mlp/output/dense/kernel", {"mlp", "embed"}},
                                             {"head/dense/kernel", {"embed", ""}},
                                             {"head/output_bias", {"vocab"}}};
  return kTable;
}

class ModernbertEncoder final : public EncoderModel {
 public:
  explicit ModernbertEncoder(ModernbertConfig config) : config_(std::move(config)) {}

  std::string_view family() const override { return "modernbert"; }
  Json config() const override { return io::config_json(config_); }
  bool has_pooler() const override { return false; }
  BertConfig sizes() const override;
  DimNames dim_names(std::string_view parameter) const override {
    return dims_by_end(modernbert_dims(), parameter,
                       config_.hidden_size / config_.num_attention_heads);
  }

  Tensor sequence(const Scope& root, const EncoderInputs& in) const override;
  LmHead word_head(const Scope& root, Tensor sequence, Tensor positions) const override;
  Tensor class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                      double rate) const override;
  Tensor token_head(const Scope& root, Tensor tokens, std::int64_t C) const override {
    return dense(root / "classifier", transformed(root, tokens), C, classes());
  }
  Tensor answer_head(const Scope& root, Tensor tokens) const override {
    return dense(root / "qa_outputs", transformed(root, tokens), 2, classes());
  }

 private:
  Init classes() const {
    return random_weights(1 / std::sqrt(static_cast<double>(config_.hidden_size)));
  }
  Tensor norm(const Scope& s, Tensor x) const {
    return layer_norm(s / "LayerNorm", x, config_.norm_eps, kScaleOnly);
  }
  Tensor embedded(const Scope& s, const EncoderInputs& in) const;
  // Applies the embeddings and all layers: [B,S,H].
  Tensor layers(const Scope& s, const EncoderInputs& in) const;
  // Applies the layer that all heads begin with and returns f32.
  Tensor transformed(const Scope& root, Tensor x) const;

  ModernbertConfig config_;
};

BertConfig ModernbertEncoder::sizes() const {
  const ModernbertConfig& c = config_;
  return {.vocab_size = c.vocab_size,
          .hidden_size = c.hidden_size,
          .num_hidden_layers = c.num_hidden_layers,
          .num_attention_heads = c.num_attention_heads,
          .intermediate_size = c.intermediate_size,
          .hidden_act = c.hidden_activation,
          .hidden_dropout_prob = 0,  // transformers' classifier_dropout, if it is left out
          .attention_probs_dropout_prob = c.attention_dropout,
          .max_position_embeddings = c.max_position_embeddings,
          .type_vocab_size = 1,
          .initializer_range = c.initializer_range,
          .gelu = Gelu::erf,
          .layer_norm_eps = c.norm_eps,
          .reads_segments = false};
}

// Returns f32, the type of the residual stream.
Tensor ModernbertEncoder::embedded(const Scope& s, const EncoderInputs& in) const {
  const ModernbertConfig& c = config_;
  check_positions(s.path(), sizes(), in.input_ids.dim(1));
  const Tensor words = s.parameter("word_embeddings", {c.vocab_size, c.hidden_size},
                                   random_weights(c.initializer_range));
  const Tensor rows = gather_rows(table(s, str(s.path(), "/word_embeddings"), words), in.input_ids);
  return dropout(s / "dropout", norm(s, rows), c.embedding_dropout);
}

Tensor ModernbertEncoder::sequence(const Scope& root, const EncoderInputs& in) const {
  return on_packed_rows(root / "modernbert", in, [this](const Scope& s, const EncoderInputs& own) {
    return layers(s, own);
  });
}

// Each layer ends with the norm that precedes the next layer's attention; the last layer ends with
// the final norm. ModernBERT has no norm before its first attention, so all layers have the same
// parameters.
Tensor ModernbertEncoder::layers(const Scope& s, const EncoderInputs& in) const {
  const ModernbertConfig& c = config_;
  const DType dtype = s.compute().dtype;
  const Tensor x = constrain_batch_sharding(s, embedded(s / "embeddings", in));
  const Reaches reaches(c, in);
  const LayerResults all = layer_stack_outputs(
      s / "encoder", "layer", c.num_hidden_layers, {x, convert(x, dtype)},
      [&](const Scope& layer, const std::vector<Tensor>& xs) -> compiler::ScanStep {
        std::vector<Tensor> queries_and_keys;
        const Tensor attended = self_attention(layer / "attention", c, xs[1],
                                               reaches.of_layer(layer), queries_and_keys);
        const Tensor a = xs[0] + in_f32(attended);
        const Tensor f = feed_forward(layer / "mlp", c, convert(norm(layer / "mlp", a), dtype));
        const Tensor out = a + in_f32(f), normed = convert(norm(layer / "output", out), dtype);
        return {.carry = {out, normed},
                .outputs = states_of_layer(in.states, normed, queries_and_keys)};
      });
  if (in.states) take_states(*in.states, convert(x, dtype), all.outputs);
  return all.carry[1];
}

Tensor ModernbertEncoder::transformed(const Scope& root, Tensor x) const {
  const Scope s = root / "head";
  const Tensor inner = linear(s / "dense", convert(x, root.compute().dtype), config_.hidden_size,
                              random_weights(config_.initializer_range));
  return norm(s, activation("gelu", in_f32(inner), Gelu::erf));
}

LmHead ModernbertEncoder::word_head(const Scope& root, Tensor sequence, Tensor positions) const {
  const auto B = positions.dim(0), P = positions.dim(1), H = config_.hidden_size;
  const Tensor picked = reshape(gather_positions(sequence, positions), {B * P, H});
  const Tensor rows = convert(transformed(root, picked), root.compute().dtype);
  return tied_word_head(root / "head", rows, root.shared("modernbert/embeddings/word_embeddings"));
}

// Returns the mean of x [B,S,H] over the tokens of each row, or the first token's: f32 [B,H].
static Tensor pooled(const ModernbertConfig& c, Tensor x, Tensor mask) {
  const auto B = x.dim(0), S = x.dim(1), H = x.dim(2);
  if (c.classifier_pooling == "cls") return reshape(in_f32(slice_axis(x, 1, 0, 1)), {B, H});
  const Tensor is_token = reshape(convert(mask, DType::f32), {B, S, 1});
  const Tensor count = reduce_sum(is_token, {1});
  return reduce_sum(in_f32(x) * is_token, {1}) / maximum(count, ones_like(count));
}

Tensor ModernbertEncoder::class_logits(const Scope& root, const EncoderInputs& in, std::int64_t C,
                                       double rate) const {
  const Tensor text = pooled(config_, sequence(root, in), in.input_mask);
  const Tensor hidden = dropout(root / "classifier", transformed(root, text), rate);
  return dense(root / "classifier", hidden, C, classes());
}

void check_rates(const ModernbertConfig& c, const std::string& where) {
  for (const auto& [name, rate] : {std::pair{"embedding_dropout", c.embedding_dropout},
                                   {"attention_dropout", c.attention_dropout},
                                   {"attention_output_dropout", c.attention_output_dropout},
                                   {"mlp_dropout", c.mlp_dropout}})
    if (!(rate >= 0 && rate < 1))
      throw UsageError(str(where, ": ", name, " is ", rate, ", must be in [0, 1)"),
                       str("set ", name, ", usually 0 or 0.1"));
}

void check_numbers(const ModernbertConfig& c, const std::string& where) {
  for (const auto& [name, value] :
       {std::pair{"global_attn_every_n_layers", c.global_attn_every_n_layers},
        {"local_attention", c.local_attention}})
    if (value < 1)
      throw UsageError(str(where, ": ", name, " is ", value, ", must be at least 1"),
                       str("set ", name));
  for (const auto& [name, value] : {std::pair{"global_rope_theta", c.global_rope_theta},
                                    {"local_rope_theta", c.local_rope_theta},
                                    {"norm_eps", c.norm_eps}})
    if (!(value > 0 && std::isfinite(value)))
      throw UsageError(str(where, ": ", name, " is ", value, ", must be a number above 0"),
                       str("set ", name));
}

Encoder parse_modernbert_encoder(const Json& config, const std::string& where) {
  return modernbert_encoder(io::parse_config<ModernbertConfig>(config, where), where);
}

}  // namespace

Encoder modernbert_encoder(ModernbertConfig c, const std::string& where) {
  check_rates(c, where);
  check_numbers(c, where);
  if (std::ranges::find(activation_names(), c.hidden_activation) == activation_names().end())
    throw UsageError(str(where, ": hidden_activation is '", c.hidden_activation, "'"),
                     did_you_mean(c.hidden_activation, activation_names()));
  if (c.classifier_pooling != "mean" && c.classifier_pooling != "cls")
    throw UsageError(
        str(where, ": classifier_pooling is '", c.classifier_pooling, "', must be mean or cls"),
        "released models use mean");
  auto encoder = std::make_shared<const ModernbertEncoder>(std::move(c));
  const BertConfig sizes = encoder->sizes();
  check_bert_config(sizes, where);
  if (head_width(sizes) % 2 != 0)
    throw UsageError(
        str(where, ": heads are ", head_width(sizes), " wide (hidden_size ", sizes.hidden_size,
            " / num_attention_heads ", sizes.num_attention_heads, "), must be even"),
        "choose num_attention_heads so that heads are 64 wide");
  return encoder;
}

EncoderFamily modernbert_encoder_family() {
  return {.name = "modernbert", .parse = parse_modernbert_encoder};
}

}  // namespace smelt::model
