// The RECIPE argument and --set flag that several commands share. A run's folder may be given in
// place of its recipe.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::cli {

struct RecipeOption {
  std::string path;
  std::vector<std::string> settings;
  pipeline::Recipe load() const { return pipeline::load_recipe(path, settings); }
  // Loads the recipe for a command that runs inference. Throws UsageError, prefixed with the
  // command's name, if there is no checkpoint yet.
  pipeline::Recipe load_trained(std::string_view command) const;
  // Loads the recipe like load_trained(), but falls back to the CPU if this machine lacks the
  // device of the training, unless --set selects a device.
  pipeline::Recipe load_for_inference(std::string_view command) const;
};

std::shared_ptr<RecipeOption> add_recipe_options(CLI::App& command);
// Quotes a path for a shell if needed.
std::string quoted(const std::string& path);

void add_set_option(CLI::App& command, std::vector<std::string>& settings);

}  // namespace smelt::cli
