#include "checkpoint/hugging_face_electra.h"

#include <array>

#include "base/error.h"
#include "checkpoint/cut_heads.h"
#include "checkpoint/hugging_face_classifier.h"
#include "checkpoint/lazy_files.h"
#include "format/config.h"
#include "store/path.h"

namespace smelt {
namespace {

using Head = ElectraPart::Head;

constexpr const char* kDiscriminatorClass = "ElectraForPreTraining";
constexpr const char* kEncoderClass = "ElectraModel";
constexpr std::array<std::string_view, 3> kElectraHeads{"discriminator_predictions/", "classifier/",
                                                        "qa_outputs/"};
constexpr const char* kGeneratorClass = "ElectraForMaskedLM";

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
    if (head->labels.problem != Problem::answer_spans) part.labels = head->labels.outputs();
    part.of_tokens = head->labels.problem == Problem::token_labels;
  } else if (classes != Json::array({kDiscriminatorClass}) &&
             classes != Json::array({kEncoderClass}))
    throw UsageError(str(where, ": not the config of an ELECTRA with a pre-training head"),
                     str("architectures must be ", kDiscriminatorClass, ", ", kGeneratorClass,
                         " or ", kElectraClassifier));
  check_encoder_form(config, where);
  part.encoder = parse_config<BertConfig>(with_heads_left(config, where), where);
  part.encoder.gelu = Gelu::erf;
  check_bert_config(part.encoder, where);
  part.embedding_size = config.value("embedding_size", Json()).is_number_integer()
                            ? config["embedding_size"].get<std::int64_t>()
                            : 0;
  if (part.embedding_size < 1)
    throw UsageError(str(where, ": embedding_size is missing or not a whole number above 0"),
                     "128 is that of ELECTRA-small, else that of hidden_size");
  return part;
}

}  // namespace

ElectraPart electra_discriminator(const ElectraConfig& c) {
  return {.head = Head::discriminator,
          .encoder = discriminator_config(c),
          .embedding_size = electra_embedding_size(c)};
}

ElectraPart electra_generator_part(const ElectraConfig& c) {
  ElectraPart part{.head = Head::generator,
                   .encoder = generator_config(c),
                   .embedding_size = electra_embedding_size(c)};
  if (c.untied_generator) part.scope = "generator";
  if (c.untied_generator && c.untied_generator_embeddings) {
    part.embeddings = "generator";
    part.embedding_size = part.encoder.hidden_size;
  }
  return part;
}

std::vector<ParameterName> electra_names(const ElectraPart& part) {
  const BertConfig& c = part.encoder;
  const std::int64_t E = part.embedding_size, H = c.hidden_size;
  ParameterNames names;
  names.embeddings(
      {part.embeddings + "/embeddings", "electra.embeddings"},
      {.words = c.vocab_size, .kinds = c.type_vocab_size, .positions = c.max_position_embeddings},
      E);
  if (E != H) names.dense({part.scope + "/embeddings_project", "electra.embeddings_project"}, E, H);
  names.encoder({part.scope, "electra"}, {.layers = c.num_hidden_layers,
                                          .hidden = H,
                                          .attention = attention_width(c),
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

Json electra_part_config(const ElectraPart& part, std::string_view class_name) {
  Json config = with_heads_listed(config_json(part.encoder));
  config["architectures"] = {class_name};
  config["model_type"] = "electra";
  config["embedding_size"] = part.embedding_size;
  return config;
}

Json electra_sizes(const ElectraPart& part) {
  Json out = config_json(part.encoder);
  out["embedding_size"] = part.embedding_size;
  for (const char* of_training :
       {"hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"})
    out.erase(of_training);
  return out;
}

void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         const LazyTensors& parameters, const FolderForm& form) {
  const std::string& act = part.encoder.hidden_act;
  if (part.head == Head::generator && act != "gelu")
    throw UsageError(
        str("export: hidden_act is '", act, "', and ", kGeneratorClass, " has gelu in its head"),
        "its checkpoint holds the model");
  const auto names = without_missing_parts(
      electra_names(part), kElectraHeads,
      [&](const ParameterName& name) { return parameters.contains(name.original); });
  model.config = electra_part_config(
      part, class_of(part, parameters.contains("discriminator_predictions/dense/bias")));
  model.max_tokens = part.encoder.max_position_embeddings;
  write_model_folder(folder, model, parameters, names, form);
}

void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         OutputDirectory::Earlier earlier) {
  const LazyTensors parameters = lazy_tensors(model.parameters);
  export_hugging_face(folder, part, std::move(model), parameters, {.earlier = earlier});
}

OpenedElectra open_hugging_face_electra(const std::string& folder) {
  const Json config = read_model_config(folder);
  const ElectraPart part = part_of(config, join_path(folder, "config.json"));
  return {part, open_model_folder(folder, config, electra_names(part), kElectraHeads, "electra.")};
}

HuggingFaceElectra import_hugging_face_electra(const std::string& folder) {
  OpenedElectra opened = open_hugging_face_electra(folder);
  return {.part = opened.part, .model = held_folder(std::move(opened.folder))};
}

}  // namespace smelt
