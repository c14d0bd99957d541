#include "pipeline/stages/clean.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "evaluation/tracking/run_record.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/pipeline.h"
#include "train/rewind.h"

namespace smelt::pipeline {
namespace {

std::uint64_t bytes_below(const std::string& path) {
  const auto status = io::file_status(path);
  if (!status) return 0;
  if (!status->is_folder) return status->size;
  std::uint64_t bytes = 0;
  for (const std::string& name : io::list_folder(path))
    bytes += bytes_below(io::join_path(path, name));
  return bytes;
}

// Returns whether training has ended, at its last step or time or by early stopping.
bool has_ended(const std::string& model_dir, std::int64_t newest, const train::TrainConfig& t) {
  if (t.seconds == 0 && newest >= t.steps) return true;
  if (!io::exists(io::join_path(model_dir, evaluation::kMetricsFile))) return false;
  const evaluation::RunRecord run = evaluation::read_run(model_dir);
  const bool same_length =
      run.start.value("of_seconds", 0.0) == t.seconds && (t.seconds > 0 || run.of == t.steps);
  return run.end && run.end->value("why", "") == "done" && run.step == newest && same_length;
}

constexpr const char* kAgain = "regenerated when a run needs it";

class Finder {
 public:
  explicit Finder(const std::string& run) : recipe_(load_recipe(run, {})), paths_(recipe_) {}

  std::vector<Leftover> found() {
    const auto newest = checkpoint::latest_checkpoint(paths_.model_dir);
    const bool is_done = newest && has_ended(paths_.model_dir, *newest, recipe_.train);
    if (newest) older_checkpoints(*newest, is_done);
    const bool spare = is_done && recipe_.type->reads_text() && can_make_text_again(recipe_);
    for (const std::string& path : {io::parent_path(paths_.train_text), data_folder()})
      spare ? finished(path) : abandoned(path);
    abandoned(recipe_.out);
    return std::move(found_);
  }

 private:
  // Returns the folder of the examples; empty for data.records, which belong to the user.
  std::string data_folder() const {
    return recipe_.ready.records.empty() ? io::parent_path(paths_.train_output) : "";
  }

  void add(const std::string& path, const std::string& what) {
    if (path.empty() || !io::exists(path)) return;
    found_.push_back({.path = path, .what = what, .bytes = bytes_below(path)});
  }

  void older_checkpoints(std::int64_t newest, bool is_done) {
    const auto steps = checkpoint::checkpoint_steps(paths_.model_dir);
    if (steps.size() < 2) return;
    // Throws if the checkpoint is damaged.
    checkpoint::load_sliced_checkpoint(paths_.model_dir, newest);
    const train::TrainConfig& train = recipe_.train;
    const bool may_rewind = !is_done && train.loss_spike.action == model::SpikeAction::rewind;
    const auto rewound =
        train::rewind_target(steps, newest + 1, train.checkpoint.save_interval_steps, 0);
    for (const std::int64_t step : steps)
      if (step != newest && !(may_rewind && step == rewound))
        add(checkpoint::committed_path(paths_.model_dir, step),
            str("older than the checkpoint of step ", newest));
  }

  // Adds the files of a finished run's text or data folder, except the examples that `smelt eval`
  // reads: the held-out ones and, for some types of models, also the training examples.
  void finished(const std::string& folder) {
    if (folder.empty() || !io::exists(folder)) return;
    const bool data = io::parent_path(paths_.heldout_output) == folder;
    if (data && recipe_.type->more_measures) return abandoned(folder);
    const std::string kept = data ? "heldout." : "";
    if (kept.empty()) return add(folder, kAgain);
    for (const std::string& name : io::list_folder(folder))
      if (!name.starts_with(kept)) add(io::join_path(folder, name), kAgain);
  }

  void abandoned(const std::string& folder) {
    if (folder.empty() || !io::exists(folder)) return;
    for (const std::string& name : io::list_folder(folder))
      if (name.ends_with(".work") || io::place_of_partial(name))
        add(io::join_path(folder, name), "left by an interrupted job");
  }

  Recipe recipe_;
  RecipePaths paths_;
  std::vector<Leftover> found_;
};

}  // namespace

std::vector<Leftover> leftovers(const std::string& run) {
  if (run_named_by(run) != run)
    throw UsageError(str("clean: ", run, " is not a run's folder"),
                     "name the folder that `smelt run` has made");
  return Finder(run).found();
}

void clean(const std::string& run, const std::vector<Leftover>& leftovers) {
  const io::FolderLock lock(run, "clean");
  const io::FolderLock training(io::join_path(run, "model"), "clean");
  const auto now = smelt::pipeline::leftovers(run);  // the run may have continued since
  for (const Leftover& leftover : leftovers)
    if (std::ranges::find(now, leftover.path, &Leftover::path) == now.end())
      continue;
    else if (checkpoint::is_checkpoint_path(leftover.path))
      checkpoint::remove_checkpoint(leftover.path);
    else
      io::remove_tree(leftover.path);
}

}  // namespace smelt::pipeline
