// Converts a recipe to a plan's run.
#include "base/error.h"
#include "base/str.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/epochs.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/plan_recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/run_needs.h"
#include "train/packing_plan.h"

namespace smelt::pipeline {
namespace {

// Returns the number of held-out examples to evaluate, estimated from the text if eval.steps is 0.
std::optional<double> planned_held_out(const Recipe& r) {
  if (r.eval.steps > 0) return static_cast<double>(r.eval.steps * r.eval.batch_size);
  if (!r.type->reads_text() || !r.ready.records.empty()) return std::nullopt;
  try {
    double tokens = 1;
    for (const io::Feature& feature : r.program->step->features)
      tokens = std::max(tokens, static_cast<double>(feature.count()));
    const std::string made = RecipePaths(r).heldout_text;
    const double bytes = io::exists(made) ? static_cast<double>(io::total_size({made}))
                                          : unpacked_bytes(text_inputs(r)) * r.text.heldout;
    return held_out_examples(bytes, tokens);
  } catch (const UsageError&) {
    return std::nullopt;  // the text is not on this machine
  }
}

// Returns a message if the initial weights or their vocabulary are missing, which a plan does not
// need; otherwise an empty string.
std::string missing_weights(const Recipe& r) try {
  (void)given_vocabulary(r);
  return "";
} catch (const UsageError& error) {
  return str(first_line(error.what()), "; planned for the sizes that are known");
}

constexpr const char* kNoExamples =
    "train.packing: the examples are not made yet, and times are those without packing, which may "
    "halve them; plan again when the first stages of `smelt run` have made the examples";

// Sets how the run packs its examples, from the recipe's training examples if they are made.
void add_packing(const Recipe& r, PlannedRun& out) {
  if (out.job.config.packing == model::PackingMode::off) return;
  train::TrainJob job = out.job;
  job.data = RecipePaths(r).train_records;
  if (record_files(job.data).empty()) {
    out.unknown += str(out.unknown.empty() ? "" : "\n", kNoExamples);
    return;
  }
  const train::PackingChoice choice = train::choose_packing(
      job, *train::open_training_data(job), r.program->step->placement.row_shards());
  out.packing = choice.reason;
  if (choice.plan) out.packed_time = choice.plan->time;
}

}  // namespace

Recipe recipe_on(const cost_model::Accelerator& type, const std::string& recipe,
                 std::vector<std::string> settings) {
  settings.insert(settings.end(), {type.is_gpu() ? "train.device=gpu" : "train.device=tpu",
                                   str("train.devices=", type.devices)});
  return load_recipe(recipe, settings);
}

PlannedRun planned_run(const Recipe& recipe) {
  const std::string missing = missing_weights(recipe);
  const Recipe r = missing.empty() ? with_existing_size(recipe) : recipe;
  if (!r.program->job)
    throw UsageError("a model of this type cannot be planned before its data are made");
  std::vector<std::string> unknown{unknown_epochs_remark(r), missing};
  std::erase(unknown, "");
  PlannedRun out{.job = *r.program->job, .evaluation = {}, .unknown = join(unknown, "\n")};
  // The program is checked before lengths are converted to steps.
  out.job.config.schedule = model::make_schedule(r.train.schedule, r.train.optimizer.learning_rate,
                                                 train::schedule_length(r.train));
  // The plan computes the number of steps of a run whose length is a time.
  const std::int64_t steps = r.train.seconds > 0 ? 1 : r.train.steps;
  const bool repeats = r.eval.every > 0;
  if (r.ready.records.empty() || !r.ready.heldout.empty())
    out.evaluation = {
        .batch = r.eval.batch_size,
        .passes = r.eval.passes,
        .times = 1 + (!repeats              ? 0
                      : r.train.seconds > 0 ? 1 / static_cast<double>(r.eval.every)
                                            : static_cast<double>(steps / r.eval.every)),
        .examples = planned_held_out(r)};
  add_packing(r, out);
  return out;
}

}  // namespace smelt::pipeline
