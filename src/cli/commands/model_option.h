// The MODEL argument of inference commands: a recipe, or a model folder.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/options/recipe_option.h"
#include "pipeline/objectives/pretrained_model.h"

namespace smelt::cli {

struct ModelOption {
  RecipeOption recipe;  // `path` is the MODEL argument
  pipeline::LoadOptions stored = {};
  const CLI::App* command = nullptr;

  // Returns true for a model folder. Throws UsageError for flags of the other kind of model.
  bool is_stored() const;
  // Loads the model of the recipe or the folder for a task.
  pipeline::PretrainedModel load(pipeline::InferenceTask task) const;
  // Returns the first flag that was given and is valid only for a model folder, or null.
  const char* model_flag() const;
};

std::shared_ptr<ModelOption> add_model_option(CLI::App& command);

}  // namespace smelt::cli
