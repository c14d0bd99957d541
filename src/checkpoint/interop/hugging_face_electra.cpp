#include "checkpoint/interop/hugging_face_electra.h"

#include <array>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/cut_heads.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/nn/layers.h"

namespace smelt::checkpoint {
namespace {

using Head = ElectraPart::Head;

constexpr const char* kDiscriminatorClass = "ElectraForPreTraining";
constexpr const char* kEncoderClass = "ElectraModel";
constexpr std::array<std::string_view, 3> kElectraHeads{"discriminator_predictions/", "classifier/",
                                                        "qa_outputs/"};
constexpr const char* kGeneratorClass = "ElectraForMaskedLM";
constexpr std::int64_t kElectraHeadWidth = 64;  // in all released models

const char* class_of(const ElectraPart& part, bool with_head) {
  if (part.head == Head::generator) return kGeneratorClass;
  return with_head ? kDiscriminatorClass : kEncoderClass;
}

ElectraPart part_of(const Json& config, const std::string& where) {
  const Json classes = config.is_object() ? config.value("architectures", Json()) : Json();
  ElectraPart part;
  if (classes == Json::array({kGeneratorClass}))
    part = {.head = Head::generator, .scope = "generator", .embeddings = "generator"};
  else if (const auto head = classifier_head(config, where)) {
    if (head->labels.problem != io::Problem::answer_spans) part.labels = head->labels.outputs();
    part.of_tokens = head->labels.problem == io::Problem::token_labels;
  } else if (classes != Json::array({kDiscriminatorClass}) &&
             classes != Json::array({kEncoderClass}))
    throw UsageError(str(where, ": not the config of an ELECTRA model that smelt can read"),
                     str("architectures must be ", kDiscriminatorClass, ", ", kGeneratorClass,
                         " or ", kElectraClassifier));
  check_encoder_form(config, where);
  const std::string activation = text_field(config, "hidden_act", "gelu", where);
  check_activation(activation, "hidden_act", model::activation_names(), where);
  Json encoder = with_remaining_heads(config, where);
  encoder["hidden_act"] = activation;
  part.encoder = io::parse_config<model::BertConfig>(encoder, where);
  part.encoder.gelu = model::Gelu::erf;
  model::check_bert_config(part.encoder, where);
  part.embedding_size = config.value("embedding_size", Json()).is_number_integer()
                            ? config["embedding_size"].get<std::int64_t>()
                            : 0;
  if (part.embedding_size < 1)
    throw UsageError(str(where, ": embedding_size is missing or not a positive integer"),
                     "set it to 128 for ELECTRA-small, else to hidden_size");
  return part;
}

}  // namespace

ElectraPart electra_discriminator(const model::ElectraConfig& c) {
  return {.head = Head::discriminator,
          .encoder = model::discriminator_config(c),
          .embedding_size = model::electra_embedding_size(c)};
}

ElectraPart electra_generator_part(const model::ElectraConfig& c) {
  ElectraPart part{.head = Head::generator,
                   .encoder = model::generator_config(c),
                   .embedding_size = model::electra_embedding_size(c)};
  if (c.untied_generator) part.scope = "generator";
  if (c.untied_generator && c.untied_generator_embeddings) {
    part.embeddings = "generator";
    part.embedding_size = part.encoder.hidden_size;
  }
  return part;
}

std::vector<ParameterName> electra_names(const ElectraPart& part) {
  const model::BertConfig& c = part.encoder;
  const std::int64_t E = part.embedding_size, H = c.hidden_size;
  ParameterNames names;
  names.embeddings(
      {part.embeddings + "/embeddings", "electra.embeddings"},
      {.words = c.vocab_size, .kinds = c.type_vocab_size, .positions = c.max_position_embeddings},
      E);
  if (E != H) names.dense({part.scope + "/embeddings_project", "electra.embeddings_project"}, E, H);
  names.encoder({part.scope, "electra"}, {.layers = c.num_hidden_layers,
                                          .hidden = H,
                                          .attention = model::attention_width(c),
                                          .intermediate = c.intermediate_size});
  if (part.head == Head::generator) {
    names.dense({"generator_predictions/dense", "generator_predictions.dense"}, H, E);
    names.layer_norm({"generator_predictions", "generator_predictions"}, E);
    names.plain({"generator_predictions/output_bias", "generator_lm_head.bias"}, {c.vocab_size});
  } else {
    names.dense({"discriminator_predictions/dense", "discriminator_predictions.dense"}, H, H);
    names.dense({"discriminator_predictions/dense_1", "discriminator_predictions.dense_prediction"},
                H, 1);
    names.dense({"qa_outputs", "qa_outputs"}, H, 2);
    if (part.labels > 0 && part.of_tokens) {
      names.dense({"classifier", "classifier"}, H, part.labels);
    } else if (part.labels > 0) {
      names.dense({"classifier/dense", "classifier.dense"}, H, H);
      names.dense({"classifier/out_proj", "classifier.out_proj"}, H, part.labels);
    }
  }
  return names.take();
}

namespace {

// The sizes of "<scope>/encoder", read from its parameters.
struct EncoderShape {
  std::int64_t layers = 0, hidden = 0, intermediate = 0;
};
EncoderShape encoder_shape(const io::LazyTensors& parameters, const std::string& scope) {
  EncoderShape out;
  for (;; ++out.layers) {
    const auto found =
        parameters.find(str(scope, "/encoder/layer_", out.layers, "/output/dense/kernel"));
    if (found == parameters.end() || found->second.shape.rank() != 2) return out;
    out.intermediate = found->second.shape.dims[0];
    out.hidden = found->second.shape.dims[1];
  }
}

// Sets the field `name` to `size` if it is missing or 0. Throws UsageError if it has another value.
void take_size(Json& config, const char* name, std::int64_t size, const std::string& where) {
  const Json said = config.value(name, Json(0));
  if (said == 0) config[name] = size;
  if (said != 0 && said != size)
    throw UsageError(str(where, ": ", name, " is ", said.dump(), ", the parameters have ", size),
                     str("correct it, or remove it to use the parameters' size"));
}

// Sets the field `name`, the generator's size divided by the discriminator's size, to size / whole
// if it is missing or 0. `size` and `whole` are the sizes of generator and discriminator in the
// parameters; `is` is the generator's size according to the config. Throws UsageError if the field
// is set and `is` differs from `size`.
void take_share(Json& config, const char* name, std::int64_t is, std::int64_t size,
                std::int64_t whole, const std::string& where) {
  const double part = static_cast<double>(size) / static_cast<double>(whole);
  if (!config.contains(name) || config[name] == 0) {
    config[name] = part;
  } else if (is != size) {
    throw UsageError(str(where, ": ", name, " is ", config[name].dump(), ", the parameters have ",
                         part, " (", size, " of ", whole, ")"),
                     str("correct it, or remove it to use the parameters' size"));
  }
}

}  // namespace

Json with_electra_sizes(Json config, const io::LazyTensors& parameters, const std::string& where) {
  const EncoderShape own = encoder_shape(parameters, "electra"),
                     generator = encoder_shape(parameters, "generator");
  const auto rows = [&](const char* table) {
    const auto found = parameters.find(str("electra/embeddings/", table));
    const bool is_table = found != parameters.end() && found->second.shape.rank() == 2;
    return is_table ? found->second.shape.dims : compiler::Dims{0, 0};
  };
  const compiler::Dims words = rows("word_embeddings");
  if (own.layers == 0 || words[0] == 0) return config;
  if (config.is_null()) {
    config = Json::object();
    log_warning("{} is missing: inferring sizes from the parameters, with a head size of {}", where,
                kElectraHeadWidth);
  }
  take_size(config, "vocab_size", words[0], where);
  take_size(config, "embedding_size", words[1], where);
  take_size(config, "hidden_size", own.hidden, where);
  take_size(config, "num_hidden_layers", own.layers, where);
  take_size(config, "intermediate_size", own.intermediate, where);
  take_size(config, "max_position_embeddings", rows("position_embeddings")[0], where);
  take_size(config, "type_vocab_size", rows("token_type_embeddings")[0], where);
  if (generator.layers == 0) return config;
  if (parameters.contains("generator/embeddings/word_embeddings"))
    config["untied_generator_embeddings"] = true;
  const model::BertConfig said =
      model::generator_config(io::parse_config<model::ElectraConfig>(config, where));
  take_share(config, "generator_hidden_size", said.hidden_size, generator.hidden, own.hidden,
             where);
  take_share(config, "generator_layers", said.num_hidden_layers, generator.layers, own.layers,
             where);
  return config;
}

Json electra_part_config(const ElectraPart& part, std::string_view class_name) {
  Json config = with_heads_listed(io::config_json(part.encoder));
  config["architectures"] = {class_name};
  config["model_type"] = "electra";
  config["embedding_size"] = part.embedding_size;
  return config;
}

Json electra_sizes(const ElectraPart& part) {
  Json out = io::config_json(part.encoder);
  out["embedding_size"] = part.embedding_size;
  for (const char* of_training :
       {"hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"})
    out.erase(of_training);
  return out;
}

void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         const io::LazyTensors& parameters, const FolderForm& form) {
  const std::string& act = part.encoder.hidden_act;
  if (part.head == Head::generator && act != "gelu")
    throw UsageError(
        str("export: hidden_act is '", act, "', but ", kGeneratorClass, " supports only gelu"),
        "use the model's checkpoint instead");
  const auto names = without_missing_parts(
      electra_names(part), kElectraHeads,
      [&](const ParameterName& name) { return parameters.contains(name.original); });
  model.config = electra_part_config(
      part, class_of(part, parameters.contains("discriminator_predictions/dense/bias")));
  model.max_tokens = part.encoder.max_position_embeddings;
  write_model_folder(folder, model, parameters, names, form);
}

void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         io::OutputDirectory::Earlier earlier) {
  const io::LazyTensors parameters = lazy_tensors(model.parameters);
  export_hugging_face(folder, part, std::move(model), parameters, {.earlier = earlier});
}

OpenedElectra open_hugging_face_electra(const std::string& folder) {
  const Json config = read_model_config(folder);
  const ElectraPart part = part_of(config, io::join_path(folder, "config.json"));
  return {part, open_model_folder(folder, config, electra_names(part), kElectraHeads, "electra.")};
}

HuggingFaceElectra import_hugging_face_electra(const std::string& folder) {
  OpenedElectra opened = open_hugging_face_electra(folder);
  return {.part = opened.part, .model = held_folder(std::move(opened.folder))};
}

}  // namespace smelt::checkpoint
