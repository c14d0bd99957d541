#include "checkpoint/interop/onnx_deberta.h"

#include <cmath>

#include "io/formats/config.h"
#include "model/models/deberta_config.h"

namespace smelt::checkpoint {
namespace {

using Axes = std::vector<std::int64_t>;

model::DebertaConfig config_for_onnx(const OnnxModelParts& parts) {
  return io::parse_config<model::DebertaConfig>(model::encoder_config_json(parts.model), "onnx");
}

// Adds DeBERTa's layers to one ONNX graph. The length S of sequences is known at run time, so the
// scores of relative positions are gathered from those of all K rows of relative embeddings.
class DebertaLayers {
 public:
  explicit DebertaLayers(const OnnxModelParts& parts)
      : graph_(parts.graph),
        layers_(parts.layers),
        c_(config_for_onnx(parts)),
        D_(c_.hidden_size / c_.num_attention_heads) {
    length_ = node("Shape", {parts.inputs.ids}, {{"start", 1}, {"end", 2}});
    const std::string numbers =
        node("Range", {graph_.scalar(0), node("Squeeze", {length_}), graph_.scalar(1)});
    const std::string down = unsqueezed(numbers, {1}), across = unsqueezed(numbers, {0});
    key_bias_ = layers_.key_bias(parts.inputs.mask);
    // The rows of the table are the distances from -(most - 1) to most - 1.
    const std::int64_t most = c_.max_position_embeddings;
    Axes table;
    for (std::int64_t i = 1 - most; i < most; ++i) table.push_back(model::relative_row(c_, i));
    const std::string rows = graph_.constant(table);
    const auto row_of = [&](const std::string& queries, const std::string& keys) {
      const std::string distance = node("Sub", {queries, keys});
      const std::string place = node("Add", {distance, graph_.scalar(most - 1)});
      return unsqueezed(node("Gather", {rows, place}), {0, 1});
    };
    by_query_ = row_of(down, across);
    by_key_ = row_of(across, down);
  }

  std::string encoded(const std::string& ids);

 private:
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<io::OnnxAttribute>& attributes = {}) {
    return graph_.node(op, inputs, attributes);
  }
  std::string unsqueezed(const std::string& x, const Axes& axes) {
    return node("Unsqueeze", {x, graph_.constant(axes)});
  }
  std::string embedded(const std::string& ids);
  // Splits x [B,S,N*D] into heads [B,N,S,D], transposed by `order`.
  std::string heads(const std::string& x, const Axes& order) {
    const Axes dims{0, 0, c_.num_attention_heads, D_};
    return node("Transpose", {node("Reshape", {x, graph_.constant(dims)})}, {{"perm", order}});
  }
  // Returns the products [B,N,S,S] of x [B,N,S,D] and the rows of relative embeddings that `rows`
  // [1,1,S,S] chooses for each pair of tokens. `scope` is the dense layer of the embeddings.
  std::string relative_scores(const std::string& x, const std::string& scope,
                              const std::string& rows);
  std::string attention(const std::string& scope, const std::string& x);
  std::string block_output(const std::string& s, const std::string& x,
                           const std::string& residual) {
    return layers_.norm(s + "/LayerNorm", node("Add", {layers_.dense(s + "/dense", x), residual}),
                        c_.layer_norm_eps);
  }

  io::OnnxGraph& graph_;
  OnnxEncoder& layers_;
  const model::DebertaConfig c_;
  const std::int64_t D_;
  std::string length_, key_bias_, relative_;
  std::string by_query_;  // [1,1,S,S]: the row for each query and key
  std::string by_key_;    // [1,1,S,S]: the row for each key and query
};

std::string DebertaLayers::relative_scores(const std::string& x, const std::string& scope,
                                           const std::string& rows) {
  const std::int64_t N = c_.num_attention_heads;
  const std::string projected =
      node("Add", {layers_.product(scope + "/kernel", relative_), layers_.floats(scope + "/bias")});
  const std::string split = node("Reshape", {projected, graph_.constant(Axes{0, N, D_})});
  const std::string products =
      node("MatMul", {x, node("Transpose", {split}, {{"perm", Axes{1, 2, 0}}})});  // [B,N,S,K]
  const std::string batch = node("Shape", {x}, {{"start", 0}, {"end", 3}});        // B, N, S
  const std::string dims = node("Concat", {batch, length_}, {{"axis", 0}});
  return node("GatherElements", {products, node("Expand", {rows, dims})}, {{"axis", 3}});
}

std::string DebertaLayers::attention(const std::string& s, const std::string& x) {
  const std::string q = heads(layers_.dense(s + "/query_proj", x), {0, 2, 1, 3}),
                    k = heads(layers_.dense(s + "/key_proj", x), {0, 2, 1, 3}),
                    v = heads(layers_.dense(s + "/value_proj", x), {0, 2, 1, 3});
  std::string scores = node("MatMul", {q, node("Transpose", {k}, {{"perm", Axes{0, 1, 3, 2}}})});
  std::int64_t products = 1;
  if (has_content_to_position(c_)) {
    const char* layer = c_.share_att_key ? "/key_proj" : "/pos_key_proj";
    scores = node("Add", {scores, relative_scores(q, s + layer, by_query_)});
    ++products;
  }
  if (has_position_to_content(c_)) {
    const char* layer = c_.share_att_key ? "/query_proj" : "/pos_query_proj";
    // The row is that of the distance from query to key, for each key and query.
    scores = node("Add", {scores, node("Transpose", {relative_scores(k, s + layer, by_key_)},
                                       {{"perm", Axes{0, 1, 3, 2}}})});
    ++products;
  }
  const auto scale = static_cast<float>(1 / std::sqrt(double(products * D_)));
  const std::string biased =
      node("Add", {node("Mul", {scores, graph_.constant(scale)}), key_bias_});
  const std::string context = node("MatMul", {node("Softmax", {biased}, {{"axis", -1}}), v});
  return node("Reshape", {node("Transpose", {context}, {{"perm", Axes{0, 2, 1, 3}}}),
                          graph_.constant(Axes{0, 0, c_.hidden_size})});
}

std::string DebertaLayers::embedded(const std::string& ids) {
  const std::string s = "deberta/embeddings";
  std::string x = layers_.rows(s + "/word_embeddings", "Gather", {ids});
  if (c_.position_biased_input)
    x = node("Add",
             {x, layers_.rows(s + "/position_embeddings", "Slice",
                              {graph_.constant(Axes{0}), length_, graph_.constant(Axes{0})})});
  if (model::deberta_embedding_size(c_) != c_.hidden_size) x = layers_.dense(s + "/embed_proj", x);
  return layers_.norm(s + "/LayerNorm", x, c_.layer_norm_eps);
}

std::string DebertaLayers::encoded(const std::string& ids) {
  std::string x = embedded(ids);
  relative_ = layers_.floats("deberta/encoder/rel_embeddings");
  if (c_.norm_rel_ebd == "layer_norm")
    relative_ = layers_.norm("deberta/encoder/LayerNorm", relative_, c_.layer_norm_eps);
  for (std::int64_t i = 0; i < c_.num_hidden_layers; ++i) {
    const std::string s = str("deberta/encoder/layer_", i);
    const std::string a =
        block_output(s + "/attention/output", attention(s + "/attention/self", x), x);
    const std::string f = layers_.activated(
        c_.hidden_act, layers_.dense(s + "/intermediate/dense", a), model::Gelu::erf);
    x = block_output(s + "/output", f, a);
  }
  return x;
}

}  // namespace

std::string add_onnx_deberta(const OnnxModelParts& parts) {
  return DebertaLayers(parts).encoded(parts.inputs.ids);
}

std::string add_onnx_deberta_head(const OnnxModelParts& parts, io::Problem problem,
                                  const std::string& x) {
  OnnxEncoder& layers = parts.layers;
  if (problem == io::Problem::answer_spans) return layers.dense("qa_outputs", x);
  if (problem == io::Problem::token_labels) return layers.dense("classifier", x);
  const std::string hidden =
      layers.activated(config_for_onnx(parts).pooler_hidden_act,
                       layers.dense("classifier/dense", layers.first(x)), model::Gelu::erf);
  return layers.dense("classifier/out_proj", hidden);
}

}  // namespace smelt::checkpoint
