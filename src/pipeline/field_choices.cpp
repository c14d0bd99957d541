#include "pipeline/field_choices.h"

#include <map>

#include "pipeline/objective_type.h"
#include "pipeline/optimizer_choice.h"
#include "pipeline/schedule_choice.h"

namespace smelt {
namespace {

std::vector<std::string> type_names() {
  std::vector<std::string> out;
  for (const ObjectiveType* type : objective_types()) out.push_back(type->name);
  return out;
}

// A test holds these to what the checks of a recipe (pipeline/recipe_checks.h) accept.
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
          {"train.schedule", schedule_names()},
          {"train.decay_form", {"linear", "sqrt"}},
          {"train.optimizer", optimizer_names()},
          {"train.spike_action", {"none", "skip", "rewind"}},
          {"train.precision", {"f32", "f32_exact", "bf16"}},
          {"train.layers", {"auto", "unrolled", "scan"}},
          {"train.save", {"auto", "all", "products", "layer"}},
          {"train.reduction", {"global", "per_replica"}},
          {"train.prune_by", {"magnitude", "movement", "soft"}},
          {"eval.split", {"validation", "test"}}};
}

}  // namespace

std::vector<std::string> field_choices(const std::string& path, const std::string& default_value) {
  if (default_value == "true" || default_value == "false") return {"true", "false"};
  const auto all = all_choices();
  const auto found = all.find(path);
  return found == all.end() ? std::vector<std::string>() : found->second;
}

}  // namespace smelt
