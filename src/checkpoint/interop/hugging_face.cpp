#include "checkpoint/interop/hugging_face.h"

#include <mutex>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/str.h"
#include "checkpoint/interop/bert_names.h"
#include "checkpoint/interop/cut_heads.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/bert_config.h"
#include "model/nn/layers.h"

namespace smelt::checkpoint {
namespace {

// Returns the fields of a bert_config.json that have the same name in transformers.
std::vector<std::string> shared_fields() {
  std::vector<std::string> names;
  for (const io::ConfigField& field : io::config_fields<model::BertConfig>())
    if (field.name != "hidden_act") names.push_back(field.name);
  return names;
}

bool is_gelu_by_erf(const std::string& name) { return name == "gelu" || name == "gelu_python"; }

// Returns whether a BERT keeps gelu by erf although smelt's own default is the tanh approximation:
// the scores of a cross-encoder must equal those of sentence-transformers.
bool keeps_gelu_by_erf(const Json& config) { return !cross_encoder_activation(config).empty(); }

// Returns the activation in the config.json of a BERT whose gelu may be replaced, or "" for other
// models.
std::string activation_of_bert(const std::string& folder) {
  const Json config = read_model_config(folder);
  const std::string where = io::join_path(folder, "config.json");
  if (!config.is_object() || text_field(config, "model_type", "", where) != "bert") return {};
  if (keeps_gelu_by_erf(config)) return {};
  return text_field(config, "hidden_act", "gelu", where);
}

// Returns transformers' class for a BERT with these heads.
const char* class_with(const io::LazyTensors& parameters) {
  const bool words = parameters.contains("cls/predictions/output_bias");
  if (words && parameters.contains("cls/seq_relationship/output_bias")) return "BertForPreTraining";
  return words ? "BertForMaskedLM" : "BertModel";
}

// Returns BERT's own name for an activation of transformers. BERT's "gelu" is the tanh
// approximation. Returns it for transformers' "gelu", too, which uses erf. Throws UsageError if the
// activation is unknown.
std::string original_activation(const std::string& name, const std::string& where) {
  const std::set<std::string> by_tanh{"gelu_new", "gelu_fast", "gelu_pytorch_tanh",
                                      "gelu_accurate"};
  const std::string original = is_gelu_by_erf(name) || by_tanh.contains(name) ? "gelu" : name;
  check_activation(original, "hidden_act", model::activation_names(), where);
  return original;
}

Json original_config(const Json& config, const std::string& where) {
  const std::string type = config.is_object() ? text_field(config, "model_type", "", where) : "";
  if (type != "bert")
    throw UsageError(
        str(where, ": model_type ", type.empty() ? "is missing" : "'" + type + "'",
            in_brackets(architecture_of(config)), type.empty() ? "" : " is not supported"),
        str("use a model whose model_type is ", readable_model_types()));
  check_encoder_form(config, where);
  for (const char* size : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                           "intermediate_size", "max_position_embeddings"})
    if (!config.contains(size))
      throw UsageError(str(where, ": ", size, " is missing, which transformers writes for a BERT"),
                       "use a model of transformers' own classes, such as BertModel, without code "
                       "of its own (auto_map)");
  const Json left = with_remaining_heads(config, where);
  Json original = Json::object();
  for (const std::string& name : shared_fields())
    if (left.contains(name)) original[name] = left.at(name);
  if (left.contains(kHeadWidth)) original[kHeadWidth] = left[kHeadWidth];
  const std::string activation = text_field(config, "hidden_act", "gelu", where);
  original["hidden_act"] = keeps_gelu_by_erf(config) && is_gelu_by_erf(activation)
                               ? model::kGeluErf
                               : original_activation(activation, where);
  const auto head = classifier_head(config, where);
  if (head && head->labels.problem != io::Problem::answer_spans)
    original[kNumLabels] = head->labels.outputs();
  return original;
}

}  // namespace

void warn_of_replaced_gelu(const std::string& folder) {
  const std::string name = activation_of_bert(folder);
  if (!is_gelu_by_erf(name)) return;
  const std::string where = io::join_path(folder, "config.json");
  // A command may read a config several times.
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (warned.insert(str(where, ": ", name)).second)
    log_warning(
        "{}: hidden_act {} (erf) is replaced by BERT's tanh approximation of gelu; they differ by "
        "up to 0.0005",
        where, name);
}

Json hugging_face_config(const Json& bert, std::string_view class_name) {
  Json config = {{"architectures", {class_name}}, {"model_type", "bert"}};
  for (const std::string& name : shared_fields())
    if (bert.contains(name)) config[name] = bert.at(name);
  // The original's "gelu" is the tanh approximation; transformers calls that "gelu_new".
  const std::string act = text_field(bert, "hidden_act", "gelu", "BERT config");
  config["hidden_act"] = act == "gelu" ? "gelu_new" : act == model::kGeluErf ? "gelu" : act;
  if (bert.contains(kHeadWidth)) config[kHeadWidth] = bert[kHeadWidth];
  return with_heads_listed(std::move(config));
}

void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         const io::LazyTensors& parameters, const FolderForm& form) {
  const std::vector<ParameterName> names = without_missing_parts(
      bert_names(bert.config), kBertParts,
      [&](const ParameterName& name) { return parameters.contains(name.original); });
  write_model_folder(folder,
                     {.config = hugging_face_config(bert.config, class_with(parameters)),
                      .parameters = {},
                      .vocab_txt = bert.vocab_txt,
                      .tokenizer = bert.tokenizer,
                      .max_tokens = config_size(bert.config, "max_position_embeddings"),
                      .owner = {}},
                     parameters, names, form);
}

void export_hugging_face(const std::string& folder, const HuggingFaceBert& bert,
                         io::OutputDirectory::Earlier earlier) {
  export_hugging_face(folder, bert, lazy_tensors(bert.parameters), {.earlier = earlier});
}

OpenedFolder open_hugging_face_bert(const std::string& folder) {
  Json config = original_config(read_model_config(folder), io::join_path(folder, "config.json"));
  const std::vector<ParameterName> names = bert_names(config);
  return open_model_folder(folder, std::move(config), names, kBertParts, "bert.");
}

HuggingFaceBert import_hugging_face(const std::string& folder) {
  ModelFolder model = held_folder(open_hugging_face_bert(folder));
  warn_of_replaced_gelu(folder);
  return {.config = std::move(model.config),
          .parameters = std::move(model.parameters),
          .vocab_txt = std::move(model.vocab_txt),
          .tokenizer = model.tokenizer,
          .owner = std::move(model.owner)};
}

}  // namespace smelt::checkpoint
