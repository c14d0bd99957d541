#include "checkpoint/interop/sentence_transformers.h"

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "io/hub/hub_path.h"
#include "model/nn/layers.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::checkpoint {
namespace {

constexpr const char *kModules = "modules.json",
                     *kLibraryFile = "config_sentence_transformers.json";

// Returns the last part of a Python path: "Pooling" of "sentence_transformers.models.Pooling".
std::string class_of(const Json& module) {
  const std::string type = module.value("type", "");
  return type.substr(type.rfind('.') + 1);
}

// Returns the JSON in a file, or null if it does not exist. Throws UsageError if it is not JSON.
Json json_in(const std::string& path) {
  if (!io::exists(path)) return {};
  Json out = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  if (out.is_object() || out.is_array()) return out;
  throw UsageError(str(path, ": not a JSON object or list"),
                   "download the sentence-transformers folder again");
}

// Returns the modules of a folder; empty if it has no modules.json.
std::vector<Json> modules_of(const std::string& folder) {
  const std::string path = io::join_path(folder, kModules);
  const Json all = json_in(path);
  if (all.is_null()) return {};
  std::vector<Json> out;
  if (all.is_array())
    for (const Json& one : all)
      if (one.is_object()) out.push_back(one);
  const bool is_known = !out.empty() && class_of(out.front()) == "Transformer";
  if (!is_known)
    throw UsageError(
        str(path, ": the first module is ", out.empty() ? "missing" : class_of(out.front()),
            ", expected a Transformer"),
        "use the folder of a sentence-transformers model with an encoder");
  return out;
}

// Returns the pooling of a config.json of the module Pooling: "pooling_mode" of version 6, or the
// flags of earlier versions. For any other pooling, throws UsageError, which names the set flags.
io::Pooling pooling_in(const std::string& path) {
  const Json config = json_in(path);
  std::string found;
  if (config.is_object() && config.contains("pooling_mode")) {
    const Json& mode = config["pooling_mode"];
    found = mode.is_string() ? mode.get<std::string>() : mode.dump();
  } else if (config.is_object()) {
    for (const auto& [name, value] : config.items())
      if (name.starts_with("pooling_mode_") && value == true)
        found += (found.empty() ? "" : ", ") + name.substr(13);
  }
  if (found == "mean" || found == "mean_tokens") return io::Pooling::mean;
  if (found == "cls" || found == "cls_token") return io::Pooling::cls;
  throw UsageError(str(path, ": pooling '", found, "' is not supported, expected mean or cls"),
                   "use a model with mean or cls pooling");
}

// Throws UsageError if sentence-transformers lowercases texts before a tokenizer that does not do
// so itself.
void check_lower_case(const std::string& encoder) {
  const std::string path = io::join_path(encoder, "sentence_bert_config.json");
  const Json config = json_in(path);
  if (!config.is_object() || config.value("do_lower_case", Json()) != true) return;
  const std::string vocab = text::wordpiece_file_in(encoder);
  if (!vocab.empty() && !text::tokenizer_options(vocab, {}).lower_case)
    throw UsageError(
        str(path,
            ": do_lower_case is true, but the tokenizer keeps capitals; smelt does not "
            "lowercase texts before the tokenizer"),
        "set do_lower_case to false there, and give lowercase texts");
}

Json module_json(std::size_t index, const char* path, const char* type) {
  return {{"idx", index},
          {"name", std::to_string(index)},
          {"path", path},
          {"type", str("sentence_transformers.models.", type)}};
}

std::string readme_of(const SentenceTransformersModel& model) {
  const auto width = model::encoder_sizes(model.encoder).hidden_size;
  return str(
      "---\nlibrary_name: sentence-transformers\npipeline_tag: sentence-similarity\n"
      "tags:\n- sentence-transformers\n- sentence-similarity\n- feature-extraction\n---\n\n"
      "# Embedding model\n\nThis model maps a text to a vector of ",
      width, " numbers: ", word_of(model.form.pooling, io::kPoolings), " pooling, ",
      model.form.normalize ? "normalized" : "not normalized", ", at most ", model.form.seq_length,
      " tokens. Compare vectors by ",
      model.form.similarity == io::Similarity::cosine ? "cosine similarity" : "dot product",
      ".\n\n```python\nfrom sentence_transformers import SentenceTransformer\n\n"
      "model = SentenceTransformer(\"path/of/this/folder\")\n"
      "embeddings = model.encode([\"a text\", \"another text\"])\n"
      "print(model.similarity(embeddings, embeddings))\n```\n");
}

// Returns the files of sentence-transformers besides the encoder's.
std::vector<FolderFile> files_beside(const SentenceTransformersModel& model) {
  const bool is_mean = model.form.pooling == io::Pooling::mean;
  Json modules{module_json(0, "", "Transformer"), module_json(1, "1_Pooling", "Pooling")};
  if (model.form.normalize) modules.push_back(module_json(2, "2_Normalize", "Normalize"));
  const Json pooling{{"word_embedding_dimension", model::encoder_sizes(model.encoder).hidden_size},
                     {"pooling_mode_cls_token", !is_mean},
                     {"pooling_mode_mean_tokens", is_mean},
                     {"pooling_mode_max_tokens", false},
                     {"pooling_mode_mean_sqrt_len_tokens", false},
                     {"pooling_mode_weightedmean_tokens", false},
                     {"pooling_mode_lasttoken", false},
                     {"include_prompt", true}};
  const Json library{{"__version__", Json::object()},
                     {"prompts", Json::object()},
                     {"default_prompt_name", nullptr},
                     {"similarity_fn_name", word_of(model.form.similarity, io::kSimilarities)}};
  const Json length{{"max_seq_length", model.form.seq_length}, {"do_lower_case", false}};
  std::vector<FolderFile> out{{kModules, modules.dump(2) + "\n"},
                              {"1_Pooling/config.json", pooling.dump(2) + "\n"},
                              {kLibraryFile, library.dump(2) + "\n"},
                              {"sentence_bert_config.json", length.dump(2) + "\n"},
                              {"README.md", readme_of(model)}};
  return out;
}

}  // namespace

bool is_sentence_transformer(const std::string& folder) {
  if (!io::exists(io::join_path(folder, kModules))) return false;
  const Json library = json_in(io::join_path(folder, kLibraryFile));
  return !library.is_object() || library.value("model_type", Json()) != "CrossEncoder";
}

std::string encoder_folder(const std::string& folder) {
  const auto modules = modules_of(folder);
  if (modules.empty()) return "";
  const std::string path = modules.front().value("path", "");
  return path.empty() ? folder : io::join_path(folder, path);
}

std::optional<io::EmbeddingForm> sentence_transformers_form(const std::string& folder) {
  if (!is_sentence_transformer(folder)) return std::nullopt;
  const auto modules = modules_of(folder);
  io::EmbeddingForm out;
  bool has_pooling = false;
  for (std::size_t i = 1; i < modules.size(); ++i) {
    const std::string type = class_of(modules[i]), path = modules[i].value("path", "");
    if (type == "Pooling" && !has_pooling) {
      out.pooling = pooling_in(io::join_path(io::join_path(folder, path), "config.json"));
      has_pooling = true;
    } else if (type == "Normalize") {
      out.normalize = true;
    } else {
      throw UsageError(str(io::join_path(folder, kModules), ": module ", i, " is ", type,
                           ", expected Pooling or Normalize"),
                       "use a model that consists of an encoder and pooling");
    }
  }
  if (!has_pooling)
    throw UsageError(str(io::join_path(folder, kModules), ": no Pooling module"),
                     "use a model that consists of an encoder and pooling");
  check_lower_case(encoder_folder(folder));
  out.seq_length = longest_text_in(encoder_folder(folder));
  const Json library = json_in(io::join_path(folder, kLibraryFile));
  const Json similarity =
      library.is_object() ? library.value("similarity_fn_name", Json()) : Json();
  if (similarity == "dot" || similarity == "dot_score") out.similarity = io::Similarity::dot;
  if (library.is_object() && library.value("default_prompt_name", Json()).is_string())
    log_warning("{}: sentence-transformers puts the prompt '{}' before each text; smelt does not",
                folder, library.at("default_prompt_name").get<std::string>());
  return out;
}

std::optional<io::EmbeddingForm> stored_embedding_form(const StoredModel& m) {
  if (m.settings.is_object()) {
    if (!m.settings.contains("embedding")) return std::nullopt;
    return io::parse_config<io::EmbeddingForm>(m.settings["embedding"],
                                               str(m.where, ": embedding"));
  }
  if (m.form != ModelForm::hugging_face) return std::nullopt;
  if (auto form = sentence_transformers_form(m.where)) return form;
  // A whole repository of the Hub has no parent folder.
  if (io::is_hub_path(m.where) && io::parse_hub_path(m.where).path.empty()) return std::nullopt;
  const std::string outer = io::parent_path(m.where);
  if (encoder_folder(outer) == m.where) return sentence_transformers_form(outer);
  return std::nullopt;
}

Json with_gelu_of_folder(Json config, const std::string& folder) {
  const std::string path = io::join_path(folder, "config.json");
  const Json written = json_in(path);
  if (!written.is_object() || written.value("model_type", "bert") != "bert") return config;
  const Json act = written.value("hidden_act", Json("gelu"));
  if (config.is_object() && (act == "gelu" || act == "gelu_python"))
    config["hidden_act"] = model::kGeluErf;
  return config;
}

void export_sentence_transformers(const std::string& folder, SentenceTransformersModel model,
                                  const io::LazyTensors& parameters, const FolderForm& form) {
  const StoredFamily& family = family_of_encoder(model::encoder_name(model.encoder));
  auto named = family.classifier(model.encoder, io::Problem::token_labels, 1);
  const std::string scope = str(family.name(), "/");
  std::vector<ParameterName> names;
  for (ParameterName& name : named.names) {
    if (!name.original.starts_with(scope) || !parameters.contains(name.original)) continue;
    const std::size_t dot = name.hugging_face.find('.');
    name.hugging_face = name.hugging_face.substr(dot + 1);  // AutoModel has no prefix "bert."
    names.push_back(std::move(name));
  }
  named.config["architectures"] = {
      str(family.class_prefix(model::encoder_config_json(model.encoder)), "Model")};
  for (const char* field : {"num_labels", "id2label", "label2id", "problem_type"})
    named.config.erase(field);
  model.folder.config = std::move(named.config);
  const model::BertConfig sizes = model::encoder_sizes(model.encoder);
  model.folder.max_tokens = model.form.seq_length;
  model.folder.reads_segments = sizes.reads_segments;
  model.folder.more_files = files_beside(model);
  write_model_folder(folder, model.folder, parameters, names, form);
}

}  // namespace smelt::checkpoint
