// The RECIPE argument and --set flag that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace smelt {

struct RecipeOption {
  std::string path;
  std::vector<std::string> settings;
  Recipe load() const { return load_recipe(path, settings); }
};

inline std::shared_ptr<RecipeOption> add_recipe_options(CLI::App& command) {
  auto option = std::make_shared<RecipeOption>();
  command.add_option("recipe", option->path, "a recipe (YAML); recipes/ holds some")->required();
  command.add_option("--set", option->settings, "a field over the recipe's, e.g. train.steps=1000");
  return option;
}

}  // namespace smelt
