#include "checkpoint/interop/onnx_modernbert.h"

#include <cmath>
#include <cstring>

#include "io/formats/config.h"
#include "model/models/encoder.h"
#include "model/models/modernbert_config.h"

namespace smelt::checkpoint {
namespace {

using Axes = std::vector<std::int64_t>;

io::LazyTensor f32_row(const std::vector<float>& values) {
  return {{compiler::DType::f32, {1, std::ssize(values)}}, [values] {
            std::vector<std::byte> out(values.size() * sizeof(float));
            std::memcpy(out.data(), values.data(), out.size());
            return out;
          }};
}

// Adds ModernBERT's layers to one ONNX graph.
class ModernbertLayers {
 public:
  explicit ModernbertLayers(const OnnxModelParts& parts)
      : graph_(parts.graph),
        layers_(parts.layers),
        c_(io::parse_config<model::ModernbertConfig>(model::encoder_config_json(parts.model),
                                                     "onnx")),
        D_(c_.hidden_size / c_.num_attention_heads) {
    const std::string length =
        node("Squeeze", {node("Shape", {parts.inputs.ids}, {{"start", 1}, {"end", 2}})});
    const std::string numbers =
        node("Cast", {node("Range", {graph_.scalar(0), length, graph_.scalar(1)})}, {{"to", 1}});
    positions_ = unsqueezed(numbers, {1});
    const std::string mask = layers_.key_bias(parts.inputs.mask);
    global_ = {mask, {}, {}};
    local_ = {node("Add", {mask, window_bias(unsqueezed(numbers, {0}))}), {}, {}};
    set_rotary(c_.global_rope_theta, "global", global_);
    set_rotary(c_.local_rope_theta, "local", local_);
  }

  std::string encoded(const std::string& ids);

 private:
  // Attention bias and rotary factors (cos and sin, [S,D]) of all global or all local layers.
  struct Reach {
    std::string bias, cos, sin;
  };

  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<io::OnnxAttribute>& attributes = {}) {
    return graph_.node(op, inputs, attributes);
  }
  std::string unsqueezed(const std::string& x, const Axes& axes) {
    return node("Unsqueeze", {x, graph_.constant(axes)});
  }
  std::string slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
    return node("Slice", {x, graph_.constant(Axes{begin}), graph_.constant(Axes{end}),
                          graph_.constant(Axes{axis})});
  }
  // Returns the attention bias [S,S] that masks keys outside the window of local attention. `keys`
  // are the positions of the keys, [1,S].
  std::string window_bias(const std::string& keys) {
    const std::string distance = node("Abs", {node("Sub", {positions_, keys})});
    const std::string is_far =
        node("Greater", {distance, graph_.constant(static_cast<float>(c_.local_attention / 2))});
    return node("Mul", {node("Cast", {is_far}, {{"to", 1}}),
                        graph_.constant(static_cast<float>(model::kMaskedScore))});
  }
  void set_rotary(double base, const char* kind, Reach& out) {
    std::vector<float> frequencies;
    for (std::int64_t i = 0; i < D_; ++i)
      frequencies.push_back(static_cast<float>(
          std::pow(base, -static_cast<double>(2 * (i % (D_ / 2))) / static_cast<double>(D_))));
    const std::string angles = node(
        "Mul", {positions_, graph_.constant(str("constant/rotary_", kind), f32_row(frequencies))});
    out.cos = node("Cos", {angles});
    out.sin = node("Sin", {angles});
  }
  // Applies rotary position embeddings to x [B,N,S,D].
  std::string rotated(const std::string& x, const Reach& reach) {
    const std::string turned = node(
        "Concat", {node("Neg", {slice(x, 3, D_ / 2, D_)}), slice(x, 3, 0, D_ / 2)}, {{"axis", 3}});
    return node("Add", {node("Mul", {x, reach.cos}), node("Mul", {turned, reach.sin})});
  }
  std::string attention(const std::string& scope, const std::string& x, const Reach& reach);
  std::string feed_forward(const std::string& scope, const std::string& x);
  std::string norm(const std::string& scope, const std::string& x) {
    return layers_.norm(scope + "/LayerNorm", x, c_.norm_eps);
  }

  io::OnnxGraph& graph_;
  OnnxEncoder& layers_;
  const model::ModernbertConfig c_;
  const std::int64_t D_;
  std::string positions_;
  Reach global_, local_;
};

std::string ModernbertLayers::attention(const std::string& s, const std::string& x,
                                        const Reach& reach) {
  const std::int64_t N = c_.num_attention_heads;
  const std::string split =
      node("Reshape", {layers_.dense(s + "/qkv", x), graph_.constant(Axes{0, 0, 3 * N, D_})});
  const std::string heads = node("Transpose", {split}, {{"perm", Axes{0, 2, 1, 3}}});
  const std::string q = rotated(slice(heads, 1, 0, N), reach),
                    k = rotated(slice(heads, 1, N, 2 * N), reach),
                    v = slice(heads, 1, 2 * N, 3 * N);
  const std::string products =
      node("MatMul", {q, node("Transpose", {k}, {{"perm", Axes{0, 1, 3, 2}}})});
  const std::string scores =
      node("Mul", {products, graph_.constant(static_cast<float>(1 / std::sqrt(double(D_))))});
  const std::string weights = node("Softmax", {node("Add", {scores, reach.bias})}, {{"axis", -1}});
  const std::string context =
      node("Transpose", {node("MatMul", {weights, v})}, {{"perm", Axes{0, 2, 1, 3}}});
  return layers_.dense(s + "/output/dense",
                       node("Reshape", {context, graph_.constant(Axes{0, 0, N * D_})}));
}

std::string ModernbertLayers::feed_forward(const std::string& s, const std::string& x) {
  const std::int64_t I = c_.intermediate_size;
  const std::string wide = layers_.dense(s + "/input/dense", x);
  const std::string active =
      layers_.activated(c_.hidden_activation, slice(wide, 2, 0, I), model::Gelu::erf);
  return layers_.dense(s + "/output/dense", node("Mul", {active, slice(wide, 2, I, 2 * I)}));
}

std::string ModernbertLayers::encoded(const std::string& ids) {
  const std::string words = "modernbert/embeddings/word_embeddings";
  std::string x = norm("modernbert/embeddings", layers_.rows(words, "Gather", {ids})), normed = x;
  for (std::int64_t i = 0; i < c_.num_hidden_layers; ++i) {
    const std::string s = str("modernbert/encoder/layer_", i);
    const Reach& reach = model::is_global_layer(c_, i) ? global_ : local_;
    x = node("Add", {x, attention(s + "/attention", normed, reach)});
    x = node("Add", {x, feed_forward(s + "/mlp", norm(s + "/mlp", x))});
    normed = norm(s + "/output", x);
  }
  return normed;
}

// Returns the mean of x [B,S,H] over the tokens of each row: [B,H].
std::string mean_of_tokens(const OnnxModelParts& parts, const std::string& x) {
  io::OnnxGraph& graph = parts.graph;
  const std::string mask = graph.node("Cast", {parts.inputs.mask}, {{"to", 1}});
  const std::string wide = graph.node("Unsqueeze", {mask, graph.constant(Axes{2})});
  const std::string axes = graph.constant(Axes{1});
  const std::string sum =
      graph.node("ReduceSum", {graph.node("Mul", {x, wide}), axes}, {{"keepdims", 0}});
  const std::string count = graph.node("ReduceSum", {wide, axes}, {{"keepdims", 0}});
  return graph.node("Div", {sum, graph.node("Max", {count, graph.constant(1.0F)})});
}

}  // namespace

std::string add_onnx_modernbert(const OnnxModelParts& parts) {
  return ModernbertLayers(parts).encoded(parts.inputs.ids);
}

std::string add_onnx_modernbert_head(const OnnxModelParts& parts, io::Problem problem,
                                     const std::string& x) {
  OnnxEncoder& layers = parts.layers;
  const auto c =
      io::parse_config<model::ModernbertConfig>(model::encoder_config_json(parts.model), "onnx");
  const bool of_tokens =
      problem == io::Problem::answer_spans || problem == io::Problem::token_labels;
  const std::string read = of_tokens                       ? x
                           : c.classifier_pooling == "cls" ? layers.first(x)
                                                           : mean_of_tokens(parts, x);
  const std::string hidden = layers.norm(
      "head/LayerNorm",
      layers.activated("gelu", layers.dense("head/dense", read), model::Gelu::erf), c.norm_eps);
  return layers.dense(problem == io::Problem::answer_spans ? "qa_outputs" : "classifier", hidden);
}

}  // namespace smelt::checkpoint
