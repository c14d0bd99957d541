// Runs the stages of a recipe. In a multi-host run, rank 0 runs the stages that are not shared,
// while the other ranks wait.

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/stop_notice.h"
#include "checkpoint/storage/checkpoint.h"
#include "data/input_pipeline/description.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "io/filesystem/path.h"
#include "pipeline/config/distillation.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/finished_run.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/run_history.h"
#include "pipeline/stages/run_needs.h"
#include "pipeline/stages/stage_list.h"
#include "pjrt/hardware.h"
#include "train/initial_state.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

// Warns if train.init_from differs from the weights that the model started with; a resumed run does
// not use it.
void warn_about_other_weights(const Recipe& r) {
  if (const auto other = changed_initial_weights(r))
    log_warning("train.init_from is ignored: the model in {} started from other weights: {}",
                RecipePaths(r).model_dir, *other);
}

// Removes partial files of killed exports and evaluations in the locked folder of the run.
void remove_unfinished(const std::string& out, const std::string& model_dir) {
  if (io::is_remote(out)) return;
  io::remove_abandoned_in(model_dir);
  for (const std::string& name : io::list_folder(out))
    if (io::place_of_partial(name) && io::is_folder(io::join_path(out, name)))
      io::remove_tree(io::join_path(out, name));
}

// Checks that there is at least one device per process, before hours of text processing. The real
// number of devices is known once they are opened.
void check_devices(const Recipe& r, const train::ProcessGroup& all) {
  if (r.train.devices >= all.size) return;
  throw UsageError(
      str("train.devices is ", r.train.devices, ", but ", all.size, " processes train together"),
      "set train.devices to the number of devices of all hosts, such as 32 for a v2-32");
}

// A run of a recipe on all processes. Only rank 0 calls begin() and next_shared().
class RecipeRun {
 public:
  RecipeRun(const Recipe& recipe, const Beginning& beginning, Evaluated evaluated)
      : recipe_(recipe), beginning_(beginning), evaluated_(std::move(evaluated)) {}
  ~RecipeRun() { recipe_.trained->clear(); }
  RecipeRun(const RecipeRun&) = delete;
  RecipeRun& operator=(const RecipeRun&) = delete;
  void run();

 private:
  void begin();
  std::string next_shared();
  void is_done(const Stage& stage);
  void make_shared(const std::string& name);
  Trained trained() {
    return [this](const train::TrainSummary& summary) {
      stopped_ = summary.signalled;
      keeps_recipe_ = !summary.is_beyond;
      *recipe_.trained = trained_checkpoint(summary);
    };
  }
  std::string trained_checkpoint(const train::TrainSummary& summary) const;
  void require_folder() const {
    if (lock_) lock_->require_held_now();
  }

  const Recipe& recipe_;
  const Beginning beginning_;
  const Evaluated evaluated_;
  const train::ProcessGroup all_ = train::current_process_group("run");
  std::vector<Stage> stages_;
  std::size_t at_ = 0;  // index in stages_
  // Record of the current shared stage from begin_stage(), which does not contain the outputs yet.
  std::optional<Json> made_from_;
  bool stopped_ = false;  // whether training was stopped by a signal
  // False if the model was trained to a later step than the recipe's train.steps.
  bool keeps_recipe_ = true;
  // Prevents another run from replacing the files that this one reads.
  std::optional<io::FolderLock> lock_;
};

// Warns if data.records contain many unknown tokens. Records that the run makes are checked when
// they are made.
void warn_about_unknown_tokens(const Recipe& r) {
  if (r.ready.records.empty()) return;
  if (const auto description = data::find_description(record_files(r.ready.records)))
    smelt::data::warn_of_unknown_tokens(*description);
}

void RecipeRun::begin() {
  const Recipe& r = recipe_;
  check_devices(r, all_);
  try_segment_command(r);
  stages_ = stages_of(r, beginning_, evaluated_, trained());
  const std::string model_dir = RecipePaths(r).model_dir;
  if (!beginning_.overwrite) train::check_resume_mode(beginning_.begin, model_dir);
  // A missing plugin is reported before hours of text processing.
  pjrt::ready_plugin(r.train.device);
  check_machine_memory(r);
  if (beginning_.overwrite || !checkpoint::latest_checkpoint(model_dir))
    (void)initial_weights_text(with_existing_size(r));  // throws if the weights have another shape
  check_output_folder(r.out);
  if (!beginning_.overwrite) check_finished_run_keeps_settings(r);
  lock_.emplace(r.out, "run");
  claim_output_folder(r.out, stages_);
  remove_unfinished(r.out, RecipePaths(r).model_dir);
  if (beginning_.overwrite) forget_stage(r.out, "train");
  check_model_is_of(r, stages_, beginning_);
  // If there is a checkpoint, train_model() stores the recipe after checking that it fits the
  // checkpoint. A rejected recipe in the folder would prevent the next start.
  const bool begins = beginning_.overwrite || !checkpoint::latest_checkpoint(model_dir);
  if (!checkpoint::latest_checkpoint(model_dir)) keep_recipe(r);
  if (begins) {
    store_start_settings(r);
    warn_about_unknown_tokens(r);
  }
  if (!begins) {
    check_same_teacher(r);
    warn_about_other_weights(r);
  }
}

// Returns the checkpoint that this training ended with, or its best one with eval.best; empty if no
// best checkpoint exists. Another process may have written a newer checkpoint to the folder.
std::string RecipeRun::trained_checkpoint(const train::TrainSummary& summary) const {
  const std::string model_dir = RecipePaths(recipe_).model_dir;
  if (!recipe_.eval.best) return checkpoint::committed_path(model_dir, summary.last_step);
  if (!summary.best_step) return {};
  return checkpoint::committed_path(io::join_path(model_dir, "best"), *summary.best_step);
}

void RecipeRun::is_done(const Stage& stage) {
  if (stage.name == "train" && keeps_recipe_) keep_recipe(recipe_);
  if (std::exchange(stopped_, false) && &stage != &stages_.back())
    throw Stopped("run: stopped by a signal after the model was trained and saved",
                  str("`smelt run ", recipe_.out, "` continues with the next stage"));
}

// Runs stages up to the next shared one and returns its name; empty if no stage is left.
std::string RecipeRun::next_shared() {
  require_folder();
  if (made_from_) {
    end_stage(recipe_.out, stages_[at_], *std::exchange(made_from_, std::nullopt));
    is_done(stages_[at_++]);
  }
  for (; at_ < stages_.size(); ++at_) {
    const Stage& stage = stages_[at_];
    all_.set_status(str("the stage ", stage.name));
    require_folder();
    if (!stage.is_shared)
      run_stage(recipe_.out, stage);
    else if ((made_from_ = begin_stage(recipe_.out, stage)))
      return stage.name;
    is_done(stage);
  }
  return {};
}

void RecipeRun::make_shared(const std::string& name) {
  all_.set_status(str("the stage ", name));
  const auto shared = shared_stages(recipe_, beginning_, evaluated_, trained());
  std::ranges::find(shared, name, &Stage::name)->make();
}

void RecipeRun::run() {
  const StopNotice notice;  // handles stop signals between stages
  all_.run_on_rank_zero("alone/begin", [&] { begin(); });
  if (!all_.leads()) pjrt::ready_plugin(recipe_.train.device);
  all_.require_one_folder(recipe_.out);
  for (int round = 1;; ++round) {
    const std::string name = all_.broadcast(str("alone/", round), [&] { return next_shared(); });
    if (name.empty()) return;
    make_shared(name);
  }
}

}  // namespace

void run_recipe(const Recipe& r, const Beginning& beginning, const Evaluated& evaluated) {
  RecipeRun(r, beginning, evaluated).run();
}

}  // namespace smelt::pipeline
