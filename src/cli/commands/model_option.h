// The MODEL argument of commands that ask a trained model: a recipe, or a model's own folder.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands/recipe_option.h"
#include "pipeline/pretrained_model.h"

namespace smelt {

struct ModelOption {
  RecipeOption recipe;  // whose path is the model's
  LoadOptions stored = {};
  const CLI::App* command = nullptr;

  // Whether it is a model's folder. UsageError for flags that are the other kind's.
  bool is_stored() const;
  // Loads the model of the recipe or the folder for a task.
  PretrainedModel load(InferenceTask task) const;
  const char* model_flag() const;  // the first that was given of those for a model's folder; null
};

std::shared_ptr<ModelOption> add_model_option(CLI::App& command);

}  // namespace smelt
