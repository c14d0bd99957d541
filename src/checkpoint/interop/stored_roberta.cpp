// Implements StoredFamily for RoBERTa, XLM-RoBERTa and CamemBERT.
#include <array>

#include "base/error.h"
#include "checkpoint/interop/cut_heads.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/roberta_config.h"
#include "model/nn/layers.h"

namespace smelt::checkpoint {
namespace {

constexpr std::array<std::string_view, 3> kRobertaHeads{"lm_head/", "classifier/", "qa_outputs/"};

// Returns all parameters of a model with the masked-language-model head and a classification head;
// with `outputs` 0, the question-answering head instead.
std::vector<ParameterName> roberta_names(const model::Encoder& encoder, io::Problem problem,
                                         std::int64_t outputs) {
  const model::BertConfig c = model::encoder_sizes(encoder);
  const std::int64_t H = c.hidden_size;
  ParameterNames names;
  names.embeddings({"roberta/embeddings", "roberta.embeddings"},
                   {.words = c.vocab_size,
                    .kinds = c.type_vocab_size,
                    .positions = c.max_position_embeddings + c.position_offset},
                   H);
  names.encoder({"roberta", "roberta"}, {.layers = c.num_hidden_layers,
                                         .hidden = H,
                                         .attention = model::attention_width(c),
                                         .intermediate = c.intermediate_size});
  names.dense({"lm_head/dense", "lm_head.dense"}, H, H);
  names.plain({"lm_head/LayerNorm/beta", "lm_head.layer_norm.bias"}, {H});
  names.plain({"lm_head/LayerNorm/gamma", "lm_head.layer_norm.weight"}, {H});
  names.plain({"lm_head/output_bias", "lm_head.bias"}, {c.vocab_size});
  names.dense({"qa_outputs", "qa_outputs"}, H, 2);
  if (outputs > 0 && problem == io::Problem::token_labels) {
    names.dense({"classifier", "classifier"}, H, outputs);
  } else if (outputs > 0) {
    names.dense({"classifier/dense", "classifier.dense"}, H, H);
    names.dense({"classifier/out_proj", "classifier.out_proj"}, H, outputs);
  }
  return names.take();
}

// Converts a config.json to the fields of a roberta_config.json.
Json fields_of(const Json& config, const std::string& where) {
  if (text_field(config, "position_embedding_type", "absolute", where) != "absolute")
    throw UsageError(str(where, ": position_embedding_type is ",
                         config["position_embedding_type"].dump(), ", not \"absolute\""),
                     "use a model with absolute positions");
  if (config.value("is_decoder", Json()) == true)
    throw UsageError(str(where, ": is_decoder is true: causal language models are not supported"),
                     "use an encoder, such as a folder of RobertaForMaskedLM");
  check_activation(text_field(config, "hidden_act", "gelu", where), "hidden_act",
                   model::activation_names(), where);
  const Json left = with_remaining_heads(config, where);
  Json out = Json::object();
  for (const io::ConfigField& field : io::config_fields<model::RobertaConfig>())
    if (left.contains(field.name) && !left[field.name].is_null())
      out[field.name] = left[field.name];
  if (left.contains(kHeadWidth)) out[kHeadWidth] = left[kHeadWidth];  // for pruned heads
  // transformers' default if config.json omits it; released models have 1e-5.
  if (!out.contains("layer_norm_eps")) out["layer_norm_eps"] = 1e-12;
  return io::config_json(io::parse_config<model::RobertaConfig>(out, where));
}

OpenedFolder open_roberta(const std::string& folder) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  Json fields = fields_of(config, where);
  const model::Encoder encoder = model::parse_encoder("roberta", fields, where);
  const auto head = classifier_head(config, where);
  const bool has_classes = head && head->labels.problem != io::Problem::answer_spans;
  const auto names = roberta_names(encoder, head ? head->labels.problem : io::Problem::single_label,
                                   has_classes ? head->labels.outputs() : 0);
  OpenedFolder out = open_model_folder(folder, std::move(fields), names, kRobertaHeads, "roberta.");
  // No head uses the pooler of RobertaModel, so it is not reported as unused.
  std::erase_if(out.unused,
                [](const std::string& name) { return name.starts_with("roberta.pooler."); });
  return out;
}

Json roberta_config_json(const model::Encoder& encoder, const std::string& class_name) {
  Json config = with_heads_listed(model::encoder_config_json(encoder));
  config["architectures"] = {class_name};
  const bool is_camembert = config.value("model_type", Json()) == "camembert";
  config["bos_token_id"] = is_camembert ? 5 : 0;
  config["eos_token_id"] = is_camembert ? 6 : 2;
  return config;
}

class RobertaFamily final : public FolderFamily {
 public:
  std::string_view name() const override { return "roberta"; }
  std::vector<std::string_view> model_types() const override {
    return {"roberta", "xlm-roberta", "camembert"};
  }
  std::string vocabulary_file() const override { return "tokenizer.json"; }

  std::string class_prefix(const Json& config) const override {
    const Json type = config.is_object() ? config.value("model_type", Json()) : Json();
    return type == "xlm-roberta" ? "XLMRoberta" : type == "camembert" ? "Camembert" : "Roberta";
  }
  std::string class_bias(const io::LazyTensors& tensors, bool& of_tokens) const override {
    of_tokens = tensors.contains("classifier/bias");
    return of_tokens ? "classifier/bias" : "classifier/out_proj/bias";
  }
  NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                         std::int64_t outputs) const override {
    auto names = roberta_names(encoder, problem, outputs);
    std::erase_if(names,
                  [](const ParameterName& one) { return one.original.starts_with("lm_head/"); });
    return {folder_config(encoder, classifier_class(encoder, problem)), std::move(names)};
  }

  std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                            const std::string& x) const override;
  std::string word_head(const io::LazyTensors& tensors) const override {
    return tensors.contains("lm_head/output_bias") ? "lm_head" : "";
  }
  // Returns gelu regardless of hidden_act, as transformers' RobertaLMHead does.
  std::string word_activation(const model::BertConfig&) const override { return "gelu"; }

 protected:
  OpenedFolder open_folder(const std::string& folder) const override {
    return open_roberta(folder);
  }
  Json folder_config(const model::Encoder& encoder, const std::string& class_name) const override {
    return roberta_config_json(encoder, class_name);
  }
  std::vector<ParameterName> masked_lm_names(const model::Encoder& encoder) const override {
    return roberta_names(encoder, io::Problem::single_label, 0);
  }
  std::span<const std::string_view> heads() const override { return kRobertaHeads; }
};

std::string RobertaFamily::add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                                         const std::string& x) const {
  OnnxEncoder& encoder = parts.layers;
  if (problem == io::Problem::answer_spans) return encoder.dense("qa_outputs", x);
  if (problem == io::Problem::token_labels) return encoder.dense("classifier", x);
  const std::string hidden = encoder.activated(
      "tanh", encoder.dense("classifier/dense", encoder.first(x)), model::Gelu::erf);
  return encoder.dense("classifier/out_proj", hidden);
}

}  // namespace

const StoredFamily& roberta_stored_family() {
  static const RobertaFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
