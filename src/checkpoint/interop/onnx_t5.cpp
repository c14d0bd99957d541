#include "checkpoint/interop/onnx_t5.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/str.h"
#include "model/models/encoder.h"
#include "model/models/t5.h"

namespace smelt::checkpoint {
namespace {

using Ints = std::vector<std::int64_t>;
using Sizes = std::vector<std::string>;

constexpr const char *kT5Words = "shared/embedding", *kBatchSize = "batch_size",
                     *kEncoderTokens = "encoder_sequence_length",
                     *kDecoderTokens = "decoder_sequence_length",
                     *kPastTokens = "past_decoder_sequence_length",
                     *kAllTokens = "past_decoder_sequence_length + decoder_sequence_length";

// Returns the relative position bucket of every distance from -most to most, s64 [2 most + 1].
// Larger distances have the same bucket as `most`.
io::LazyTensor distance_buckets(const model::T5Config& c, bool both_sides) {
  const std::int64_t most = c.relative_attention_max_distance;
  return {{compiler::DType::s64, {2 * most + 1}}, [c, most, both_sides] {
            Ints values;
            for (std::int64_t distance = -most; distance <= most; ++distance)
              values.push_back(model::t5_bucket(c, distance, both_sides));
            std::vector<std::byte> bytes(values.size() * sizeof(std::int64_t));
            std::memcpy(bytes.data(), values.data(), bytes.size());
            return bytes;
          }};
}

class T5Layers {
 public:
  T5Layers(io::OnnxGraph& graph, const io::LazyTensors& tensors, const model::T5Config& config,
           const std::string& where)
      : graph_(graph), c_(config), layers_(graph, tensors, where) {}

  void encoder();
  void decoder(bool has_past);

 private:
  struct Keys {
    std::string k, v;  // [B,N,S,D]
  };
  // Inputs shared by all layers of a decoder.
  struct View {
    // Biases of self-attention [1,N,T,P+T] and cross-attention [B,1,1,S].
    std::string bias, encoded_bias;
    // Encoder output [B,S,E]; empty if its keys and values are inputs of the graph.
    std::string encoded;
  };

  std::string node(const std::string& op, const Sizes& inputs,
                   const std::vector<io::OnnxAttribute>& attributes = {}, std::string name = {}) {
    return graph_.node(op, inputs, attributes, std::move(name));
  }
  // Returns a dimension of x as a scalar.
  std::string size(const std::string& x, std::int64_t axis) {
    return node("Squeeze", {node("Shape", {x}, {{"start", axis}, {"end", axis + 1}})});
  }
  std::string number(std::int64_t value) { return graph_.scalar(value); }
  std::string real(double value) { return graph_.constant(static_cast<float>(value)); }

  std::string norm(const std::string& scope, const std::string& x);
  std::string distances(const std::string& first, const std::string& last);
  std::string bias_of_distances(const std::string& stack, const std::string& apart,
                                bool both_sides);
  std::string bias_of_mask(const std::string& mask);
  std::string heads(const std::string& kernel, const std::string& x);
  std::string attended(const std::string& scope, const std::string& x, const Keys& keys,
                       const std::string& bias);
  std::string feed_forward(const std::string& scope, const std::string& x);
  std::string words(const std::string& x);
  Keys own_keys(const std::string& scope, const std::string& x, std::int64_t layer, bool has_past);
  Keys encoded_keys(const std::string& scope, std::int64_t layer, const View& view);
  std::string decoder_layer(std::int64_t layer, const std::string& x, const View& view);
  Sizes key_sizes(const char* tokens) const {
    return {kBatchSize, str(c_.num_heads), tokens, str(c_.d_kv)};
  }

  io::OnnxGraph& graph_;
  const model::T5Config& c_;
  OnnxEncoder layers_;
};

// Adds an RMS norm without bias.
std::string T5Layers::norm(const std::string& scope, const std::string& x) {
  const std::string mean =
      node("ReduceMean", {node("Mul", {x, x})}, {{"axes", Ints{-1}}, {"keepdims", 1}});
  const std::string root = node("Sqrt", {node("Add", {mean, real(c_.layer_norm_epsilon)})});
  return node("Mul", {node("Div", {x, root}), layers_.floats(scope + "/scale")});
}

// Returns key position - query position, [T,P+T]. Queries have positions `first` to `last`, keys
// start at 0.
std::string T5Layers::distances(const std::string& first, const std::string& last) {
  const std::string queries = node("Range", {first, last, number(1)}),
                    keys = node("Range", {number(0), last, number(1)});
  return node("Sub", {node("Unsqueeze", {keys, graph_.constant(Ints{0})}),
                      node("Unsqueeze", {queries, graph_.constant(Ints{1})})});
}

std::string T5Layers::bias_of_distances(const std::string& stack, const std::string& apart,
                                        bool both_sides) {
  const std::int64_t most = c_.relative_attention_max_distance;
  const std::string table =
      layers_.floats(stack + "/block_000/layer_000/SelfAttention/relative_attention_bias");
  const std::string of_bucket = node("Transpose", {table}, {{"perm", Ints{1, 0}}});
  const std::string of_distance = node(
      "Gather", {of_bucket, graph_.constant(stack + "/buckets", distance_buckets(c_, both_sides))});
  const std::string cut = node("Clip", {apart, number(-most), number(most)});
  const std::string rows = node("Gather", {of_distance, node("Add", {cut, number(most)})});
  return node("Unsqueeze",
              {node("Transpose", {rows}, {{"perm", Ints{2, 0, 1}}}), graph_.constant(Ints{0})});
}

// Returns the attention bias [B,1,1,S] of a mask s64 [B,S].
std::string T5Layers::bias_of_mask(const std::string& mask) {
  const std::string wide = node("Unsqueeze", {mask, graph_.constant(Ints{1, 2})});
  const std::string hidden = node("Sub", {real(1), node("Cast", {wide}, {{"to", 1}})});
  return node("Mul", {hidden, real(model::kMaskedScore)});
}

// Projects [B,S,E] to heads [B,N,S,D].
std::string T5Layers::heads(const std::string& kernel, const std::string& x) {
  const std::string split = node(
      "Reshape", {layers_.product(kernel, x), graph_.constant(Ints{0, 0, c_.num_heads, c_.d_kv})});
  return node("Transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}});
}

std::string T5Layers::attended(const std::string& scope, const std::string& x, const Keys& keys,
                               const std::string& bias) {
  const std::string turned = node("Transpose", {keys.k}, {{"perm", Ints{0, 1, 3, 2}}});
  const std::string scores = node("MatMul", {heads(scope + "/q", x), turned});
  const std::string weights = node("Softmax", {node("Add", {scores, bias})}, {{"axis", -1}});
  const std::string context =
      node("Transpose", {node("MatMul", {weights, keys.v})}, {{"perm", Ints{0, 2, 1, 3}}});
  const std::string flat =
      node("Reshape", {context, graph_.constant(Ints{0, 0, c_.num_heads * c_.d_kv})});
  return layers_.product(scope + "/o", flat);
}

std::string T5Layers::feed_forward(const std::string& scope, const std::string& x) {
  const auto kernel = [&](const char* name) {
    return str(scope, "/DenseReluDense/", name, "/kernel");
  };
  std::string inner;
  if (c_.is_gated())
    inner = node("Mul",
                 {layers_.activated("gelu", layers_.product(kernel("wi_0"), x), model::Gelu::tanh),
                  layers_.product(kernel("wi_1"), x)});
  else
    inner = node("Relu", {layers_.product(kernel("wi"), x)});
  return layers_.product(kernel("wo"), inner);
}

void T5Layers::encoder() {
  const Sizes tokens{kBatchSize, kEncoderTokens};
  const std::string ids = graph_.input("input_ids", compiler::DType::s64, tokens),
                    mask = graph_.input("attention_mask", compiler::DType::s64, tokens);
  const std::string hidden = bias_of_mask(mask);
  const std::string apart = distances(number(0), size(ids, 1));
  const std::string bias = node("Add", {bias_of_distances("encoder", apart, true), hidden});
  std::string x = layers_.rows(kT5Words, "Gather", {ids});
  for (std::int64_t i = 0; i < c_.num_layers; ++i) {
    const std::string s = str("encoder/block_", i), own = s + "/layer_000/SelfAttention";
    const std::string normed = norm(s + "/layer_000/layer_norm", x);
    x = node("Add", {x, attended(own, normed,
                                 {heads(own + "/k", normed), heads(own + "/v", normed)}, bias)});
    x = node("Add", {x, feed_forward(s + "/layer_001", norm(s + "/layer_001/layer_norm", x))});
  }
  const std::string normed = norm("encoder/final_layer_norm", x);
  graph_.output(node("Identity", {normed}, {}, "last_hidden_state"), compiler::DType::f32,
                {kBatchSize, kEncoderTokens, str(c_.d_model)});
}

T5Layers::Keys T5Layers::own_keys(const std::string& scope, const std::string& x,
                                  std::int64_t layer, bool has_past) {
  const auto all = [&](const char* part, const char* kernel) {
    const std::string name = str(layer, ".decoder.", part), present = "present." + name;
    const std::string fresh = heads(str(scope, "/", kernel), x);
    const std::string out =
        has_past ? node("Concat", {"past_key_values." + name, fresh}, {{"axis", 2}}, present)
                 : node("Identity", {fresh}, {}, present);
    graph_.output(out, compiler::DType::f32, key_sizes(has_past ? kAllTokens : kDecoderTokens));
    return out;
  };
  return {all("key", "k"), all("value", "v")};
}

T5Layers::Keys T5Layers::encoded_keys(const std::string& scope, std::int64_t layer,
                                      const View& view) {
  const auto all = [&](const char* part, const char* kernel) {
    const std::string name = str(layer, ".encoder.", part);
    if (view.encoded.empty()) return "past_key_values." + name;
    const std::string out =
        node("Identity", {heads(str(scope, "/", kernel), view.encoded)}, {}, "present." + name);
    graph_.output(out, compiler::DType::f32, key_sizes(kEncoderTokens));
    return out;
  };
  return {all("key", "k"), all("value", "v")};
}

std::string T5Layers::decoder_layer(std::int64_t layer, const std::string& in, const View& view) {
  const std::string s = str("decoder/block_", layer), own = s + "/layer_000/SelfAttention",
                    other = s + "/layer_001/EncDecAttention";
  const std::string normed = norm(s + "/layer_000/layer_norm", in);
  const Keys keys = own_keys(own, normed, layer, view.encoded.empty());
  std::string x = node("Add", {in, attended(own, normed, keys, view.bias)});
  const std::string asked = norm(s + "/layer_001/layer_norm", x);
  x = node("Add", {x, attended(other, asked, encoded_keys(other, layer, view), view.encoded_bias)});
  return node("Add", {x, feed_forward(s + "/layer_002", norm(s + "/layer_002/layer_norm", x))});
}

// Adds the logits over the vocabulary.
std::string T5Layers::words(const std::string& x) {
  if (!c_.tie_word_embeddings)
    return node("Identity", {layers_.product("decoder/logits/kernel", x)}, {}, "logits");
  const std::string scaled = node("Mul", {x, real(1 / std::sqrt(static_cast<double>(c_.d_model)))});
  const std::string turned = node("Transpose", {layers_.floats(kT5Words)}, {{"perm", Ints{1, 0}}});
  return node("MatMul", {scaled, turned}, {}, "logits");
}

void T5Layers::decoder(bool has_past) {
  const std::string mask =
      graph_.input("encoder_attention_mask", compiler::DType::s64, {kBatchSize, kEncoderTokens});
  const std::string ids =
      graph_.input("input_ids", compiler::DType::s64, {kBatchSize, kDecoderTokens});
  View view{.bias = {}, .encoded_bias = bias_of_mask(mask), .encoded = {}};
  if (has_past)
    for (std::int64_t i = 0; i < c_.decoder_layers(); ++i)
      for (const char* of : {"decoder", "encoder"})
        for (const char* part : {"key", "value"})
          graph_.input(str("past_key_values.", i, ".", of, ".", part), compiler::DType::f32,
                       key_sizes(of == std::string("decoder") ? kPastTokens : kEncoderTokens));
  else
    view.encoded = graph_.input("encoder_hidden_states", compiler::DType::f32,
                                {kBatchSize, kEncoderTokens, str(c_.d_model)});
  const std::string first = has_past ? size("past_key_values.0.decoder.key", 2) : number(0);
  const std::string apart = distances(first, node("Add", {first, size(ids, 1)}));
  const std::string later = node("Cast", {node("Greater", {apart, number(0)})}, {{"to", 1}});
  view.bias = node("Add", {bias_of_distances("decoder", apart, false),
                           node("Mul", {later, real(model::kMaskedScore)})});
  std::string x = layers_.rows(kT5Words, "Gather", {ids});
  // `logits` is the first output, as in Optimum's export; the outputs of the layers follow in
  // order.
  const std::string dims = str(c_.vocab_size);
  graph_.output("logits", compiler::DType::f32, {kBatchSize, kDecoderTokens, dims});
  for (std::int64_t i = 0; i < c_.decoder_layers(); ++i) x = decoder_layer(i, x, view);
  (void)words(norm("decoder/final_layer_norm", x));
}

}  // namespace

void add_t5_graph(io::OnnxGraph& graph, const io::LazyTensors& tensors,
                  const model::T5Config& config, const std::string& where, T5Graph kind) {
  T5Layers layers(graph, tensors, config, where);
  if (kind == T5Graph::encoder)
    layers.encoder();
  else
    layers.decoder(kind == T5Graph::decoder_with_past);
}

}  // namespace smelt::checkpoint
