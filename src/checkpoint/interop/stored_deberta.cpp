// Implements StoredFamily for DeBERTa-v2 and v3 (model_type deberta-v2 of transformers).
#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/interop/deberta_parts.h"
#include "checkpoint/interop/onnx_deberta.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/deberta_config.h"
#include "model/nn/layers.h"

namespace smelt::checkpoint {
namespace {

constexpr std::array<std::string_view, 4> kDebertaHeads{"lm_head/", "mask_predictions/",
                                                        "classifier/", "qa_outputs/"};
constexpr const char *kDebertaType = "deberta-v2", *kPairs = "pos_att_type",
                     *kNormOfRelative = "norm_rel_ebd", *kLegacy = "legacy",
                     *kReadableDeberta = "take a model in the form of microsoft/deberta-v3-base";

// transformers' two forms of the masked-LM head, which compute the same if embeddings are as wide
// as the encoder: that of its default, `legacy` true, and that of Microsoft's checkpoints.
enum class WordHeadForm { legacy, microsoft };

model::DebertaConfig deberta_config(const model::Encoder& encoder) {
  return io::parse_config<model::DebertaConfig>(model::encoder_config_json(encoder), "deberta");
}

void add_deberta_layer(const model::DebertaConfig& c, std::int64_t i, ParameterNames& names) {
  const std::int64_t H = c.hidden_size, I = c.intermediate_size;
  const std::string own = str("deberta/encoder/layer_", i, "/"),
                    its = str("deberta.encoder.layer.", i, ".");
  std::vector<std::string> projections{"query_proj", "key_proj", "value_proj"};
  if (!c.share_att_key && has_content_to_position(c)) projections.emplace_back("pos_key_proj");
  if (!c.share_att_key && has_position_to_content(c)) projections.emplace_back("pos_query_proj");
  for (const std::string& name : projections)
    names.dense({own + "attention/self/" + name, its + "attention.self." + name}, H, H);
  names.dense({own + "attention/output/dense", its + "attention.output.dense"}, H, H);
  names.layer_norm({own + "attention/output", its + "attention.output"}, H);
  names.dense({own + "intermediate/dense", its + "intermediate.dense"}, H, I);
  names.dense({own + "output/dense", its + "output.dense"}, I, H);
  names.layer_norm({own + "output", its + "output"}, H);
}

void add_deberta_encoder(const model::DebertaConfig& c, ParameterNames& names) {
  const std::int64_t H = c.hidden_size, E = model::deberta_embedding_size(c);
  const ParameterNames::Part embeddings{"deberta/embeddings", "deberta.embeddings"},
      encoder{"deberta/encoder", "deberta.encoder"};
  const auto table = [&](const char* name, std::int64_t rows) {
    names.plain(
        {str(embeddings.original, "/", name), str(embeddings.hugging_face, ".", name, ".weight")},
        {rows, E});
  };
  table("word_embeddings", c.vocab_size);
  if (c.position_biased_input) table("position_embeddings", c.max_position_embeddings);
  if (E != H)
    names.kernel({"deberta/embeddings/embed_proj", "deberta.embeddings.embed_proj"}, E, H);
  names.layer_norm(embeddings, H);
  names.plain({"deberta/encoder/rel_embeddings", "deberta.encoder.rel_embeddings.weight"},
              {2 * model::relative_span(c), H});
  if (c.norm_rel_ebd == "layer_norm") names.layer_norm(encoder, H);
  for (std::int64_t i = 0; i < c.num_hidden_layers; ++i) add_deberta_layer(c, i, names);
}

// Adds the masked-language-model head and the head that detects replaced tokens.
void add_pretraining_heads(const model::DebertaConfig& c, WordHeadForm form,
                           ParameterNames& names) {
  const std::int64_t H = c.hidden_size, E = model::deberta_embedding_size(c);
  const bool legacy = form == WordHeadForm::legacy;
  const std::string its = legacy ? "cls.predictions.transform" : "lm_predictions.lm_head";
  names.dense({"lm_head/dense", its + ".dense"}, H, E);
  names.layer_norm({"lm_head", its}, E);
  names.plain(
      {"lm_head/output_bias", legacy ? "cls.predictions.bias" : "lm_predictions.lm_head.bias"},
      {c.vocab_size});
  names.dense({"mask_predictions/dense", "mask_predictions.dense"}, H, H);
  names.layer_norm({"mask_predictions", "mask_predictions"}, H);
  names.dense({"mask_predictions/classifier", "mask_predictions.classifier"}, H, 1);
}

void add_class_head(std::int64_t H, io::Problem problem, std::int64_t outputs,
                    ParameterNames& names) {
  if (problem == io::Problem::answer_spans) {
    names.dense({"qa_outputs", "qa_outputs"}, H, 2);
  } else if (problem == io::Problem::token_labels) {
    names.dense({"classifier", "classifier"}, H, outputs);
  } else {
    names.dense({"classifier/dense", "pooler.dense"}, H, H);
    names.dense({"classifier/out_proj", "classifier"}, H, outputs);
  }
}

// Throws UsageError unless a field of config.json is missing, null or `usual`.
void expect_deberta(const Json& config, const char* field, const Json& usual,
                    const std::string& where) {
  const Json value = config.value(field, Json());
  if (!value.is_null() && value != usual)
    throw UsageError(str(where, ": ", field, " is ", value.dump(), ", must be ", usual.dump()),
                     kReadableDeberta);
}

// Converts pos_att_type, a list or a text with "|", to the text.
std::string pairs_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  std::vector<std::string> names;
  for (const Json& one : value.elements())
    names.push_back(one.is_string() ? one.get<std::string>() : one.dump());
  return join(names, "|");
}

// Converts a config.json to the fields of a deberta_config.json.
Json deberta_fields(const Json& config, const std::string& where) {
  if (config.value("relative_attention", Json()) != true)
    throw UsageError(str(where, ": relative_attention is ",
                         config.value("relative_attention", Json(false)).dump(), ", must be true"),
                     kReadableDeberta);
  if (const Json size = config.value("conv_kernel_size", Json(0)); !size.is_null() && size != 0)
    throw UsageError(str(where, ": conv_kernel_size is ", size.dump(),
                         ": the convolution of DeBERTa-v2-xlarge and xxlarge is not supported"),
                     "take a DeBERTa-v3, which has no convolution");
  expect_deberta(config, "type_vocab_size", 0, where);
  expect_deberta(config, "tie_word_embeddings", true, where);
  const model::DebertaConfig usual;
  const std::int64_t H = config.value("hidden_size", usual.hidden_size);
  expect_deberta(config, "pooler_hidden_size", H, where);
  expect_deberta(
      config, "attention_head_size",
      H / std::max<std::int64_t>(config.value("num_attention_heads", usual.num_attention_heads), 1),
      where);
  for (const char* field : {"hidden_act", "pooler_hidden_act"})
    check_activation(text_field(config, field, "gelu", where), field, model::activation_names(),
                     where);
  // transformers' defaults that differ from smelt's.
  Json out{{"position_biased_input", true}, {"position_buckets", -1}, {"share_att_key", false}};
  for (const io::ConfigField& field : io::config_fields<model::DebertaConfig>())
    if (config.contains(field.name) && !config[field.name].is_null())
      out[field.name] = config[field.name];
  if (out.value("embedding_size", Json()) == H) out["embedding_size"] = 0;
  out[kPairs] = pairs_of(config.value(kPairs, Json()));
  const std::string norm = text_field(config, kNormOfRelative, "none", where);
  out[kNormOfRelative] = norm.find("layer_norm") != std::string::npos ? "layer_norm" : "none";
  return io::config_json(io::parse_config<model::DebertaConfig>(out, where));
}

OpenedFolder open_deberta(const std::string& folder) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  Json fields = deberta_fields(config, where);
  const model::Encoder encoder = model::parse_encoder("deberta", fields, where);
  const model::DebertaConfig c = deberta_config(encoder);
  const bool legacy = config.value(kLegacy, Json()) != false;
  ParameterNames names;
  add_deberta_encoder(c, names);
  add_pretraining_heads(c, legacy ? WordHeadForm::legacy : WordHeadForm::microsoft, names);
  if (const auto head = classifier_head(config, where)) {
    const bool of_answers = head->labels.problem == io::Problem::answer_spans;
    add_class_head(c.hidden_size, head->labels.problem, of_answers ? 2 : head->labels.outputs(),
                   names);
  }
  OpenedFolder out =
      open_model_folder(folder, std::move(fields), names.take(), kDebertaHeads, "deberta.");
  // Microsoft's checkpoints have tables of absolute positions that nothing reads.
  std::erase(out.unused, "deberta.embeddings.position_embeddings.weight");
  return out;
}

Json deberta_config_json(const model::Encoder& encoder, const std::string& class_name) {
  Json config = model::encoder_config_json(encoder);
  const model::DebertaConfig c = deberta_config(encoder);
  Json pairs = Json::array();
  for (const std::string_view one : smelt::split(c.pos_att_type, '|'))
    pairs.push_back(std::string(one));
  config.update(Json{{"architectures", {class_name}},
                     {"model_type", kDebertaType},
                     {"relative_attention", true},
                     {"type_vocab_size", 0},
                     {"embedding_size", model::deberta_embedding_size(c)},
                     {"pooler_hidden_size", c.hidden_size},
                     {kPairs, pairs},
                     {kLegacy, true}});
  return config;
}

class DebertaFamily final : public FolderFamily {
 public:
  std::string_view name() const override { return "deberta"; }
  std::vector<std::string_view> model_types() const override { return {kDebertaType}; }
  std::string class_prefix(const Json&) const override { return "DebertaV2"; }
  std::string_view dropout_field() const override { return "cls_dropout"; }
  std::string class_bias(const io::LazyTensors& tensors, bool& of_tokens) const override {
    of_tokens = tensors.contains("classifier/bias");
    return of_tokens ? "classifier/bias" : "classifier/out_proj/bias";
  }
  NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                         std::int64_t outputs) const override {
    const model::DebertaConfig c = deberta_config(encoder);
    ParameterNames names;
    add_deberta_encoder(c, names);
    add_class_head(c.hidden_size, problem, outputs, names);
    return {deberta_config_json(encoder, classifier_class(encoder, problem)), names.take()};
  }
  // Reads the discriminator of replaced-token detection and leaves out its generator.
  void open(const std::vector<std::string>& folders, StoredModel& out) const override {
    FolderFamily::open({folders.front()}, out);
  }
  void load(const std::string& folder, PretrainedWeights& out) const override {
    if (out.model.is_null()) FolderFamily::load(folder, out);
  }
  // Writes the folders discriminator/ and generator/ of a model that is pretrained by
  // replaced-token detection.
  void write(const std::string& folder, const StoredModel& model,
             const FolderForm& form) const override {
    if (!is_pair_of_debertas(model.tensors)) return FolderFamily::write(folder, model, form);
    FolderFamily::write(io::join_path(folder, "discriminator"), model, form);
    FolderFamily::write(io::join_path(folder, "generator"), deberta_generator_of(model), form);
  }
  // transformers requires heads of hidden_size / num_attention_heads, so none can be removed.
  LayerModules layer_modules(const Json& config) const override {
    LayerModules out = FolderFamily::layer_modules(config);
    out.heads = {};
    return out;
  }
  std::string add_onnx_encoder(const OnnxModelParts& parts) const override {
    return add_onnx_deberta(parts);
  }
  std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                            const std::string& x) const override {
    return add_onnx_deberta_head(parts, problem, x);
  }
  std::string word_head(const io::LazyTensors& tensors) const override {
    return tensors.contains("lm_head/output_bias") ? "lm_head" : "";
  }

 protected:
  OpenedFolder open_folder(const std::string& folder) const override {
    return open_deberta(folder);
  }
  Json folder_config(const model::Encoder& encoder, const std::string& class_name) const override {
    return deberta_config_json(encoder, class_name);
  }
  std::vector<ParameterName> masked_lm_names(const model::Encoder& encoder) const override {
    const model::DebertaConfig c = deberta_config(encoder);
    ParameterNames names;
    add_deberta_encoder(c, names);
    add_pretraining_heads(c, WordHeadForm::legacy, names);
    return names.take();
  }
  std::span<const std::string_view> heads() const override { return kDebertaHeads; }
};

}  // namespace

const StoredFamily& deberta_stored_family() {
  static const DebertaFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
