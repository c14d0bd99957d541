#include "cli/options/recipe_option.h"

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "base/run_program.h"
#include "checkpoint/storage/checkpoint.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pjrt/hardware.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::cli {

pipeline::Recipe RecipeOption::load_trained(std::string_view command) const {
  pipeline::Recipe recipe = load();
  if (checkpoint::latest_checkpoint(pipeline::RecipePaths(recipe).model_dir)) return recipe;
  // If the folder has a stored recipe, the hint is shorter.
  const bool kept = pipeline::run_named_by(recipe.out).has_value();
  throw UsageError(str(command, ": ", recipe.out, ": no checkpoint yet"),
                   kept ? str("`smelt run ", recipe.out, "` trains the model")
                        : str("`smelt run ", path, "` with the same --set trains it"));
}

pipeline::Recipe RecipeOption::load_for_inference(std::string_view command) const {
  pipeline::Recipe recipe = load_trained(command);
  if (const auto splits = text::Segmenter::of(recipe.vocab.segment_command);
      splits && command != "eval" && splits->command() != text::kNoSegmentCommand)
    splits->check_allowed(path);
  const std::string& device = recipe.train.device;
  const bool said = std::ranges::any_of(
      settings, [](const std::string& setting) { return setting.starts_with("train.device="); });
  if (said || device == "cpu" || device == "auto" || pjrt::is_here(device)) return recipe;
  log_warning("{}: this machine has no {}; {} runs on the CPU", command, device, recipe.out);
  RecipeOption here = *this;
  for (const char* setting : {"train.device=cpu", "train.devices=1", "train.parallelism.mesh=auto"})
    here.settings.emplace_back(setting);
  return here.load_trained(command);
}

std::string quoted(const std::string& path) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:,@%";
  if (!path.empty() && path.find_first_not_of(kPlain) == path.npos) return path;
  return shell_word(path);
}

void add_set_option(CLI::App& command, std::vector<std::string>& settings) {
  command.add_option("--set", settings, "override a recipe field, e.g. train.steps=1000");
}

std::shared_ptr<RecipeOption> add_recipe_options(CLI::App& command) {
  auto option = std::make_shared<RecipeOption>();
  command
      .add_option("recipe", option->path,
                  "a recipe (YAML; examples are in recipes/), or the folder of a run")
      ->required();
  add_set_option(command, option->settings);
  return option;
}

}  // namespace smelt::cli
