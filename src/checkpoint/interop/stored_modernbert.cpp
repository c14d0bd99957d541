// ModernBERT as a stored model.
#include <algorithm>
#include <array>
#include <optional>

#include "base/error.h"
#include "checkpoint/interop/onnx_modernbert.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/modernbert_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::checkpoint {
namespace {

constexpr std::array<std::string_view, 4> kModernbertHeads{"head/output_bias", "head/",
                                                           "classifier/", "qa_outputs/"};
constexpr const char *kFull = "full_attention", *kSliding = "sliding_attention",
                     *kLayerTypes = "layer_types", *kRope = "rope_parameters",
                     *kGlobalTheta = "global_rope_theta", *kLocalTheta = "local_rope_theta";

// The matmuls of a layer: names in transformers and in smelt.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLayerKernels{
    {{"attn.Wqkv", "attention/qkv"},
     {"attn.Wo", "attention/output/dense"},
     {"mlp.Wi", "mlp/input/dense"},
     {"mlp.Wo", "mlp/output/dense"}}};

// A classification head: its problem and its number of outputs.
struct HeadSize {
  io::Problem problem = io::Problem::single_label;
  std::int64_t outputs = 0;
};

// Returns the parameters of a model with the head `head`, or with the masked-language-model head if
// `head` is not set. smelt's names of norms follow the order in which they are applied: the norm
// before the attention of layer i + 1 belongs to layer i, the final norm to the last layer.
std::vector<ParameterName> modernbert_names(const model::Encoder& encoder,
                                            const std::optional<HeadSize>& head) {
  const model::BertConfig c = model::encoder_sizes(encoder);
  const std::int64_t H = c.hidden_size, last = c.num_hidden_layers - 1;
  ParameterNames names;
  const auto norm = [&](const std::string& scope, const std::string& hugging_face) {
    names.plain({scope + "/LayerNorm/gamma", hugging_face + ".weight"}, {H});
  };
  names.plain({"modernbert/embeddings/word_embeddings", "model.embeddings.tok_embeddings.weight"},
              {c.vocab_size, H});
  norm("modernbert/embeddings", "model.embeddings.norm");
  for (std::int64_t i = 0; i <= last; ++i) {
    const std::string at = str("modernbert/encoder/layer_", i, "/"), its = str("model.layers.", i);
    names.kernel({at + "attention/qkv", its + ".attn.Wqkv"}, H, 3 * H);
    names.kernel({at + "attention/output/dense", its + ".attn.Wo"}, H, H);
    norm(at + "mlp", its + ".mlp_norm");
    names.kernel({at + "mlp/input/dense", its + ".mlp.Wi"}, H, 2 * c.intermediate_size);
    names.kernel({at + "mlp/output/dense", its + ".mlp.Wo"}, c.intermediate_size, H);
    norm(at + "output", i == last ? "model.final_norm" : str("model.layers.", i + 1, ".attn_norm"));
  }
  names.kernel({"head/dense", "head.dense"}, H, H);
  norm("head", "head.norm");
  if (!head)
    names.plain({"head/output_bias", "decoder.bias"}, {c.vocab_size});
  else if (head->problem == io::Problem::answer_spans)
    names.dense({"qa_outputs", "classifier"}, H, 2);
  else
    names.dense({"classifier", "classifier"}, H, head->outputs);
  return names.take();
}

// Throws UsageError if a field of config.json is neither missing, null nor `usual`.
void expect_field(const Json& config, const char* field, const Json& usual,
                  const std::string& where) {
  const Json value = config.value(field, usual);
  if (!value.is_null() && value != usual)
    throw UsageError(str(where, ": ", field, " is ", value.dump(), ", must be ", usual.dump()),
                     "take a model in the form of answerdotai/ModernBERT-base");
}

// Sets global_attn_every_n_layers from layer_types, the list of all layers' kinds that
// transformers 5 writes. Throws UsageError if the global layers are not evenly spaced from layer 0.
void take_layer_types(const Json& types, const std::string& where, Json& out) {
  const auto is_full = [&](std::size_t i) { return types[i] == kFull; };
  const auto count = types.is_array() ? types.size() : 0;
  std::size_t n = 1;
  while (n < count && !is_full(n)) ++n;
  for (std::size_t i = 0; i < count; ++i)
    if (is_full(i) != (i % n == 0))
      throw UsageError(str(where, ": ", kLayerTypes, "[", i, "] is ", types[i].dump(), ", must be ",
                           kFull, " in layers 0, ", n, ", ", 2 * n, ", ... and in no other"),
                       "take a model whose layers alternate evenly");
  if (count > 0) out["global_attn_every_n_layers"] = n;
}

// Sets global_rope_theta and local_rope_theta from rope_parameters, which transformers 5 writes.
void take_rope(const Json& rope, const std::string& where, Json& out) {
  if (!rope.is_object()) return;
  for (const char* field : {"rope_type", "rope_theta"})  // one form for all layers
    expect_field(rope, field, nullptr, str(where, ": ", kRope));
  for (const auto& [kind, field] : {std::pair{kFull, kGlobalTheta}, {kSliding, kLocalTheta}}) {
    const Json of_kind = rope.value(kind, Json());
    if (!of_kind.is_object()) continue;
    expect_field(of_kind, "rope_type", "default", str(where, ": ", kRope, ".", kind));
    if (const Json theta = of_kind.value("rope_theta", Json()); theta.is_number())
      out[field] = theta;
  }
}

// Converts a config.json of transformers 4 or 5 to the fields of a modernbert_config.json.
Json modernbert_fields(const Json& config, const std::string& where) {
  for (const char* field : {"norm_bias", "attention_bias", "mlp_bias", "classifier_bias"})
    expect_field(config, field, false, where);
  expect_field(config, "decoder_bias", true, where);
  expect_field(config, "tie_word_embeddings", true, where);
  expect_field(config, "classifier_activation", "gelu", where);
  expect_field(config, "rope_scaling", nullptr, where);
  check_activation(text_field(config, "hidden_activation", "gelu", where), "hidden_activation",
                   model::activation_names(), where);
  // Sets transformers' defaults that differ from smelt's. transformers applies attention_dropout to
  // both the attention weights and the attention output.
  Json out{{"classifier_pooling", "cls"},
           {"attention_output_dropout", config.value("attention_dropout", Json(0.0))}};
  for (const io::ConfigField& field : io::config_fields<model::ModernbertConfig>())
    if (config.contains(field.name) && !config[field.name].is_null())
      out[field.name] = config[field.name];
  // In transformers 4, null means the base of the global layers.
  if (config.contains(kLocalTheta) && config[kLocalTheta].is_null())
    out[kLocalTheta] = out.value(kGlobalTheta, model::ModernbertConfig().global_rope_theta);
  // The fields of transformers 5 take precedence, as in transformers.
  take_layer_types(config.value(kLayerTypes, Json()), where, out);
  take_rope(config.value(kRope, Json()), where, out);
  return io::config_json(io::parse_config<model::ModernbertConfig>(out, where));
}

OpenedFolder open_modernbert(const std::string& folder) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  Json fields = modernbert_fields(config, where);
  const model::Encoder encoder = model::parse_encoder("modernbert", fields, where);
  std::optional<HeadSize> size;
  if (const auto head = classifier_head(config, where)) {
    const bool of_answers = head->labels.problem == io::Problem::answer_spans;
    size = {head->labels.problem, of_answers ? 2 : head->labels.outputs()};
  }
  OpenedFolder out = open_model_folder(folder, std::move(fields), modernbert_names(encoder, size),
                                       kModernbertHeads, "model.");
  std::erase(out.unused, "decoder.weight");  // tied to the embeddings
  return out;
}

// Returns the config.json for a class of transformers, with the fields of versions 4 and 5.
Json modernbert_config_json(const model::Encoder& encoder, const std::string& class_name) {
  Json config = model::encoder_config_json(encoder);
  const auto own = io::parse_config<model::ModernbertConfig>(config, "export");
  Json types = Json::array();
  for (std::int64_t i = 0; i < own.num_hidden_layers; ++i)
    types.push_back(model::is_global_layer(own, i) ? kFull : kSliding);
  const auto rope = [](double theta) {
    return Json{{"rope_type", "default"}, {"rope_theta", theta}};
  };
  config.update(Json{
      {"architectures", {class_name}},
      {"model_type", "modernbert"},
      {"layer_norm_eps", own.norm_eps},
      {"initializer_cutoff_factor", 2.0},
      {"classifier_activation", "gelu"},
      {"classifier_dropout", 0.0},
      {"decoder_bias", true},
      {kLayerTypes, types},
      {kRope, {{kFull, rope(own.global_rope_theta)}, {kSliding, rope(own.local_rope_theta)}}}});
  for (const char* field : {"norm_bias", "attention_bias", "mlp_bias", "classifier_bias"})
    config[field] = false;
  for (const char* field : {"bos_token_id", "cls_token_id", "eos_token_id", "sep_token_id"})
    config[field] = nullptr;  // replaced by the vocabulary's ids
  return config;
}

class ModernbertFamily final : public FolderFamily {
 public:
  std::string_view name() const override { return "modernbert"; }
  std::vector<std::string_view> model_types() const override { return {"modernbert"}; }
  std::string class_prefix(const Json&) const override { return "ModernBert"; }
  std::string class_bias(const io::LazyTensors&, bool& of_tokens) const override {
    of_tokens = false;  // heads for texts and for tokens have the same parameters
    return "classifier/bias";
  }
  NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                         std::int64_t outputs) const override {
    return {modernbert_config_json(encoder, classifier_class(encoder, problem)),
            modernbert_names(encoder, HeadSize{problem, outputs})};
  }
  LayerModules layer_modules(const Json& config) const override {
    const auto fields = io::parse_config<model::ModernbertConfig>(
        modernbert_fields(config, "config.json"), "config.json");
    return {.prefix = "model.layers.",
            .heads = {},
            .neurons = {.output = "mlp.Wo", .inputs = {"mlp.Wi"}, .parts = 2},
            .period = fields.global_attn_every_n_layers,
            .first_differs = true};
  }
  std::string kernel_of_module(const std::string& module) const override;
  std::string add_onnx_encoder(const OnnxModelParts& parts) const override {
    return add_onnx_modernbert(parts);
  }
  std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                            const std::string& x) const override {
    return add_onnx_modernbert_head(parts, problem, x);
  }
  std::string word_head(const io::LazyTensors& tensors) const override {
    return tensors.contains("head/output_bias") ? "head" : "";
  }
  // transformers sets the activation of this head with the field classifier_activation. Here it is
  // always gelu: open_folder() rejects other values.
  std::string word_activation(const model::BertConfig&) const override { return "gelu"; }

 protected:
  OpenedFolder open_folder(const std::string& folder) const override {
    return open_modernbert(folder);
  }
  Json folder_config(const model::Encoder& encoder, const std::string& class_name) const override {
    return modernbert_config_json(encoder, class_name);
  }
  std::vector<ParameterName> masked_lm_names(const model::Encoder& encoder) const override {
    return modernbert_names(encoder, {});
  }
  std::span<const std::string_view> heads() const override { return kModernbertHeads; }
};

std::string ModernbertFamily::kernel_of_module(const std::string& module) const {
  constexpr std::string_view kPrefix = "model.layers.";
  if (!module.starts_with(kPrefix)) return "";
  const std::string rest = module.substr(kPrefix.size());  // "3.attn.Wqkv"
  const std::size_t dot = rest.find('.');
  for (const auto& [its, own] : kLayerKernels)
    if (rest.substr(dot + 1) == its)
      return str("modernbert/encoder/layer_", rest.substr(0, dot), "/", own, "/kernel");
  return "";
}

}  // namespace

const StoredFamily& modernbert_stored_family() {
  static const ModernbertFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
