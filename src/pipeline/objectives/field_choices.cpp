#include "pipeline/objectives/field_choices.h"

#include <map>

#include "pipeline/config/objective_type.h"
#include "pipeline/objectives/objective_registry.h"

namespace smelt::pipeline {
namespace {

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const ObjectiveType* type : objective_types()) out.push_back(type->name);
  return out;
}

// Returns the values of string fields with a fixed set of values. A test compares them with the
// checks of a recipe (pipeline/config/recipe_checks.h).
std::map<std::string, std::vector<std::string>> all_choices() {
  return {{"text.format", {"auto", "text", "jsonl", "tsv", "tsv-quoted", "csv", "parquet"}},
          {"text.sentences", {"lines", "prose"}},
          {"text.dedup", {"none", "lines", "exact", "near"}},
          {"text.normalize", {"none", "nfc"}},
          {"vocab.type", {"auto", "wordpiece", "unigram", "bpe", "byte_bpe"}},
          {"vocab.normalization", {"auto", "nmt_nfkc", "nfkc", "nfc", "identity"}},
          {"vocab.strip_accents", {"auto", "true", "false"}},
          {"data.order", {"shuffled", "original"}},
          {"model.type", type_names()},
          {"train.device", {"auto", "cpu", "gpu", "tpu"}},
          {"train.schedule.type", model::schedule_names()},
          {"train.schedule.decay_type", model::decay_type_names()},
          {"train.schedule.warmup_form", model::warmup_form_names()},
          {"train.optimizer.amos_preset", model::amos_preset_names()},
          {"train.optimizer.type", model::optimizer_names()},
          {"eval.split", {"validation", "test"}}};
}

}  // namespace

std::vector<std::string> field_choices(const RecipeField& field) {
  if (!field.choices.empty()) return field.choices;
  if (field.default_value == "true" || field.default_value == "false") return {"true", "false"};
  const auto all = all_choices();
  const auto found = all.find(field.path);
  return found == all.end() ? std::vector<std::string>() : found->second;
}

}  // namespace smelt::pipeline
