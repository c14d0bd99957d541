#include "cli/commands/begin_flags.h"

#include "base/str.h"
#include "pipeline/estimate/budget.h"
#include "pipeline/objectives/load_recipe.h"
#include "train/process_group.h"

namespace smelt::cli {

pipeline::Beginning BeginFlags::beginning() const {
  const train::ResumeMode begin = resume  ? train::ResumeMode::resume
                                  : fresh ? train::ResumeMode::fresh
                                          : train::ResumeMode::either;
  return {.begin = begin, .overwrite = overwrite};
}

pipeline::Recipe BeginFlags::load(RecipeOption recipe) const {
  if (!init_from.empty()) recipe.settings.push_back(str("train.init_from=", init_from));
  const pipeline::Recipe loaded = pipeline::load_recipe(recipe.path, recipe.settings, overwrite);
  pipeline::allow_segment_command(loaded);
  if (loaded.train.budget.usd == 0) return loaded;
  return pipeline::load_recipe(
      recipe.path, pipeline::with_steps_of_budget(recipe.path, recipe.settings, overwrite),
      overwrite);
}

void BeginFlags::load_and_run(const RecipeOption& recipe,
                              const std::function<void(const pipeline::Recipe&)>& work) const {
  std::optional<pipeline::Recipe> loaded;
  run_in_pod(
      pod,
      [&] {
        loaded = load(recipe);
        return loaded->train.device;
      },
      [&] {
        train::current_process_group("recipe").require_equal(
            "recipe", "the recipe", loaded->sections,
            "start the same command with the same recipe on all hosts");
        work(*loaded);
      });
}

std::shared_ptr<BeginFlags> add_begin_flags(CLI::App& command) {
  auto flags = std::make_shared<BeginFlags>();
  auto* resume = command.add_flag("--resume", flags->resume,
                                  "resume from the newest checkpoint; an error if there is none");
  auto* fresh = command.add_flag("--fresh", flags->fresh,
                                 "start a new run; an error if there is a checkpoint. Without "
                                 "--resume and --fresh: resume if there is a checkpoint, else "
                                 "start a new run");
  command
      .add_flag("--overwrite", flags->overwrite,
                "with --fresh: delete the contents of the model's folder first")
      ->needs(fresh);
  command.add_option("--init-from", flags->init_from,
                     "folder with pretrained weights for a new run, as train.init_from");
  resume->excludes(fresh);
  add_pod_flags(command, flags->pod);
  return flags;
}

}  // namespace smelt::cli
