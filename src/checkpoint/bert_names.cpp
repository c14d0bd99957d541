#include "checkpoint/bert_names.h"

#include "base/error.h"

namespace smelt {
namespace {

class Names {
 public:
  void plain(const std::string& original, const std::string& hugging_face, Dims dims) {
    names_.push_back({original, hugging_face, {DType::f32, std::move(dims)}, false});
  }
  void dense(const std::string& original, const std::string& hugging_face, std::int64_t in,
             std::int64_t out) {
    names_.push_back(
        {original + "/kernel", hugging_face + ".weight", {DType::f32, {in, out}}, true});
    plain(original + "/bias", hugging_face + ".bias", {out});
  }
  void layer_norm(const std::string& original, const std::string& hugging_face, std::int64_t size) {
    plain(original + "/LayerNorm/beta", hugging_face + ".LayerNorm.bias", {size});
    plain(original + "/LayerNorm/gamma", hugging_face + ".LayerNorm.weight", {size});
  }
  void encoder_layer(std::int64_t i, std::int64_t hidden, std::int64_t intermediate) {
    const std::string original = str("bert/encoder/layer_", i, "/");
    const std::string other = str("bert.encoder.layer.", i, ".");
    for (const char* name : {"query", "key", "value"})
      dense(str(original, "attention/self/", name), str(other, "attention.self.", name), hidden,
            hidden);
    dense(original + "attention/output/dense", other + "attention.output.dense", hidden, hidden);
    layer_norm(original + "attention/output", other + "attention.output", hidden);
    dense(original + "intermediate/dense", other + "intermediate.dense", hidden, intermediate);
    dense(original + "output/dense", other + "output.dense", intermediate, hidden);
    layer_norm(original + "output", other + "output", hidden);
  }
  std::vector<BertName> take() { return std::move(names_); }

 private:
  std::vector<BertName> names_;
};

}  // namespace

std::int64_t config_size(const nlohmann::json& config, const char* name) {
  if (!config.is_object() || !config.contains(name))
    throw UsageError(str("BERT config: ", name, " is missing"), str("set ", name));
  const nlohmann::json& value = config.at(name);
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1)
    throw UsageError(str("BERT config: ", name, " is ", value.dump(), ", must be at least 1"),
                     str("set ", name, " to a whole number"));
  return value.get<std::int64_t>();
}

std::vector<BertName> bert_names(const nlohmann::json& config) {
  const std::int64_t hidden = config_size(config, "hidden_size");
  const std::int64_t vocab = config_size(config, "vocab_size");
  const std::int64_t intermediate = config_size(config, "intermediate_size");
  Names names;
  for (const auto& [table, size] : {std::pair{"word_embeddings", "vocab_size"},
                                    {"token_type_embeddings", "type_vocab_size"},
                                    {"position_embeddings", "max_position_embeddings"}})
    names.plain(str("bert/embeddings/", table), str("bert.embeddings.", table, ".weight"),
                {config_size(config, size), hidden});
  names.layer_norm("bert/embeddings", "bert.embeddings", hidden);
  for (std::int64_t i = 0; i < config_size(config, "num_hidden_layers"); ++i)
    names.encoder_layer(i, hidden, intermediate);
  names.dense("bert/pooler/dense", "bert.pooler.dense", hidden, hidden);
  names.dense("cls/predictions/transform/dense", "cls.predictions.transform.dense", hidden, hidden);
  names.layer_norm("cls/predictions/transform", "cls.predictions.transform", hidden);
  names.plain("cls/predictions/output_bias", "cls.predictions.bias", {vocab});
  names.plain("cls/seq_relationship/output_weights", "cls.seq_relationship.weight", {2, hidden});
  names.plain("cls/seq_relationship/output_bias", "cls.seq_relationship.bias", {2});
  return names.take();
}

}  // namespace smelt
