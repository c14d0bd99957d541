#include "pipeline/stages/finished_run.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "pipeline/config/epochs.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/run_length.h"
#include "train/initial_state.h"
#include "train/training_clock.h"

namespace smelt::pipeline {
namespace {

// Fields of the section `train` that may change after training: evaluation uses most of them, and
// the others do not affect a finished run.
constexpr std::array<std::string_view, 12> kUsedByEvaluation{"device",
                                                             "devices",
                                                             "parallelism.mesh",
                                                             "parallelism.rules",
                                                             "parallelism.shard_optimizer_state",
                                                             "memory.layers",
                                                             "memory.remat_policy",
                                                             "memory.attention_rows",
                                                             "memory.logits_mb",
                                                             "init_from",
                                                             "gradient_accumulation_steps",
                                                             "hang_minutes"};
// Fields of other sections that only training uses.
constexpr std::array<std::string_view, 5> kUsedOnlyByTraining{
    "eval.every", "eval.every_epochs", "track.fill", "track.histograms_every", "track.gradients"};

// Fields that must not change when a run resumes.
constexpr std::array<std::string_view, 4> kKeptByResume{"train.batch_size", "train.optimizer.type",
                                                        "train.seed", "train.precision.compute"};

bool is_trained_to_the_end(const Recipe& r, const checkpoint::SavedState& saved) {
  if (saved.step == 0 || saved.state.contains(train::kUnchecked)) return false;
  const bool is_patience_exhausted =
      r.train.early_stopping.patience > 0 &&
      saved.state.value(train::kSinceBest, std::int64_t{0}) >= r.train.early_stopping.patience;
  if (r.train.seconds > 0)
    return saved.state.value(train::kTrainedSeconds, 0.0) >= r.train.seconds ||
           is_patience_exhausted;
  return saved.step == r.train.steps || (saved.step < r.train.steps && is_patience_exhausted);
}

// Formats a value as keep_recipe() writes it and YAML reads it back.
std::string stored_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// If the stored value of a field in `kept` differs from the recipe's, adds a text such as
// "train.checkpoint.max_to_keep was 5, is 3" to `changes`.
void add_change(const Recipe& r, const FieldValues& kept, const std::string& section,
                const std::string& name, std::vector<std::string>& changes) {
  const std::string path = str(section, ".", name);
  const auto was = kept.find(path);
  if (was == kept.end()) return;  // stored by a version without this field
  const Json& is = r.sections.at(section).at(name);
  if (was->second != stored_text(is))
    changes.push_back(str(path, " was ", was->second, ", is ", stored_text(is)));
}

std::vector<std::string> changes_of_training(const Recipe& r) {
  const FieldValues kept = recipe_file_fields(kept_recipe_path(r.out));
  std::vector<std::string> out;
  for (const auto& [name, value] : r.sections.at("train").items())
    if (std::ranges::find(kUsedByEvaluation, name) == kUsedByEvaluation.end())
      add_change(r, kept, "train", name, out);
  for (const std::string_view field : kUsedOnlyByTraining) {
    const std::size_t dot = field.find('.');
    add_change(r, kept, std::string(field.substr(0, dot)), std::string(field.substr(dot + 1)), out);
  }
  return out;
}

std::string hint_of_changes(const Recipe& r, const std::vector<std::string>& changes,
                            bool by_patience) {
  for (const std::string_view field : kKeptByResume)
    for (const std::string& change : changes)
      if (change.starts_with(str(field, " ")))
        return str(field, " cannot change after the first checkpoint; for a new model, add --set ",
                   "out=FOLDER");
  return str("to continue training with them, add --set ",
             by_patience
                 ? str("train.early_stopping.patience=", 2 * r.train.early_stopping.patience)
                 : doubled_length(r, r.train.steps),
             "; for a new model, add --set out=FOLDER");
}

}  // namespace

void check_finished_run_keeps_settings(const Recipe& given) {
  if (given.anew || !run_named_by(given.out)) return;
  const auto saved = checkpoint::load_latest_state(RecipePaths(given).model_dir);
  if (!saved) return;
  const Recipe r = with_epochs(given);
  if (!is_trained_to_the_end(r, *saved)) return;
  const auto changes = changes_of_training(r);
  if (changes.empty()) return;
  const bool by_time = r.train.seconds > 0;
  const bool by_patience = by_time
                               ? saved->state.value(train::kTrainedSeconds, 0.0) < r.train.seconds
                               : saved->step < r.train.steps;
  throw UsageError(str("run: ", r.out, " is finished at step ", saved->step,
                       by_time ? std::string() : str(" of ", r.train.steps),
                       ", so these settings would have no effect: ", join(changes, "; ")),
                   hint_of_changes(r, changes, by_patience));
}

}  // namespace smelt::pipeline
