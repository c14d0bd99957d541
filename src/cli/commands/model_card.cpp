#include "cli/commands/model_card.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_dataset.h"
#include "io/hub/hub_path.h"
#include "pipeline/config/kept_recipe.h"

namespace smelt::cli {
namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;  // key, YAML with a line feed

Json json_of_file(const std::string& path) {
  if (!io::exists(path)) return Json::object();
  Json json = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  return json.is_object() ? json : Json::object();
}

// Returns the pipeline_tag for the class of transformers that loads the model.
std::string task_of_architecture(const std::string& architecture) {
  constexpr std::array<std::pair<const char*, const char*>, 7> kTasks{
      {{"ForMaskedLM", "fill-mask"},
       {"ForSequenceClassification", "text-classification"},
       {"ForTokenClassification", "token-classification"},
       {"ForQuestionAnswering", "question-answering"},
       {"ForConditionalGeneration", "text2text-generation"},
       {"ForPreTraining", "fill-mask"},
       {"Model", "feature-extraction"}}};
  for (const auto& [ending, task] : kTasks)
    if (architecture.ends_with(ending)) return task;
  return {};
}

// Adds the repositories of a comma-separated list of paths that are on the Hub.
void add_datasets(const std::string& paths, std::vector<std::string>& out) {
  for (const std::string_view piece : split(paths, ',')) {
    const std::string path(trim(piece));
    if (!io::is_hub_path(path)) continue;
    const io::HubPath parsed = io::parse_hub_path(path);
    if (parsed.repo.kind == io::RepoKind::dataset && std::ranges::count(out, parsed.repo.id) == 0)
      out.push_back(parsed.repo.id);
  }
}

void add_run(const std::string& run, CardFacts& facts) {
  const std::string recipe = pipeline::kept_recipe_path(run);
  if (!io::exists(recipe)) return;
  const pipeline::FieldValues fields = pipeline::recipe_file_fields(recipe);
  const auto value = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  };
  if (const std::string init = value("train.init_from"); io::is_hub_path(init))
    facts.base_model = io::parse_hub_path(init).repo.id;
  for (const char* name : {"text.input", "data.train", "data.records"})
    add_datasets(value(name), facts.datasets);
  facts.evaluated_on = io::path_name(value("data.validation"));
  if (facts.evaluated_on.empty()) facts.evaluated_on = "held-out examples";
  const Json results = json_of_file(io::join_path(run, "model/eval_results.json"));
  for (const auto& [name, metric] : results.items())
    if (metric.is_number() && name != "global_step" && name != "examples")
      facts.metrics.emplace_back(name, metric.get<double>());
}

std::string yaml_list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += str("- ", item, "\n");
  return out;
}

std::string quoted_yaml(const std::string& text) { return Json(text).dump(); }

std::string model_index(const CardFacts& facts) {
  std::string out = str(
      "model-index:\n- name: ", quoted_yaml(facts.repo), "\n  results:\n  - task:\n",
      "      type: ", facts.task.empty() ? "other" : facts.task,
      "\n    dataset:\n      type: ", facts.datasets.empty() ? "custom" : facts.datasets.front(),
      "\n      name: ", quoted_yaml(facts.evaluated_on), "\n    metrics:\n");
  for (const auto& [name, value] : facts.metrics)
    out += str("    - type: ", name, "\n      value: ", Json(value).dump(), "\n");
  return out;
}

Metadata metadata(const CardFacts& facts) {
  Metadata out;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) out.emplace_back(key, str(key, ": ", value, "\n"));
  };
  add("license", facts.license);
  // YAML 1.1 reads the code of Norwegian as false.
  add("language", facts.language == "no" ? quoted_yaml(facts.language) : facts.language);
  add("library_name", "transformers");
  add("pipeline_tag", facts.task);
  out.emplace_back("tags", "tags:\n- smelt\n");
  add("base_model", facts.base_model);
  if (!facts.base_model.empty()) add("base_model_relation", "finetune");
  if (!facts.datasets.empty())
    out.emplace_back("datasets", "datasets:\n" + yaml_list(facts.datasets));
  if (!facts.metrics.empty()) out.emplace_back("model-index", model_index(facts));
  return out;
}

std::string card_text(const CardFacts& facts) {
  std::string out = str("\n# ", facts.repo, "\n\n",
                        facts.type.empty()        ? "A"
                        : facts.type == "electra" ? "An " + facts.type
                                                  : "A " + facts.type,
                        " model, trained with smelt",
                        facts.base_model.empty() ? "" : str(" from ", facts.base_model), ".\n");
  if (!facts.metrics.empty()) {
    out +=
        str("\n## Evaluation\n\nOn ", facts.evaluated_on, ":\n\n| metric | value |\n|---|---|\n");
    for (const auto& [name, value] : facts.metrics) out += str("| ", name, " | ", value, " |\n");
  }
  return out;
}

bool has_key(const std::string& matter, const std::string& key) {
  return str("\n", matter).find(str("\n", key, ":")) != std::string::npos;
}

}  // namespace

CardFacts card_facts(const std::string& model, const std::string& run, const std::string& repo) {
  CardFacts facts{
      .repo = repo, .task = {}, .type = {}, .license = {}, .language = {}, .base_model = {}};
  const Json config = json_of_file(io::join_path(model, "config.json"));
  facts.type = config.value("model_type", "");
  if (const auto names = config.find("architectures");
      names != config.end() && names->is_array() && !names->empty() && names->front().is_string())
    facts.task = task_of_architecture(names->front().string());
  if (!run.empty()) add_run(run, facts);
  return facts;
}

std::string model_card(const CardFacts& facts, const std::string& readme) {
  auto [matter, text] = io::front_matter(readme);
  for (const auto& [key, yaml] : metadata(facts))
    if (!has_key(matter, key)) matter += yaml;
  if (readme.empty()) text = card_text(facts);
  return str("---\n", matter, "---\n", text);
}

}  // namespace smelt::cli
