// The RECIPE argument and --set flag that several commands share. A run's folder, in which its
// recipe is kept, is taken for its recipe.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/load_recipe.h"
#include "pipeline/recipe.h"

namespace smelt {

struct RecipeOption {
  std::string path;
  std::vector<std::string> settings;
  Recipe load() const { return load_recipe(path, settings); }
  // The same for a command that asks the trained model. UsageError beginning with its name where
  // there is no checkpoint yet.
  Recipe load_trained(std::string_view command) const;
  // And answers where the devices that trained it are not: on the CPU, unless --set says a device.
  Recipe load_asked(std::string_view command) const;
};

std::shared_ptr<RecipeOption> add_recipe_options(CLI::App& command);
// A path as a shell takes it.
std::string quoted(const std::string& path);

void add_set_option(CLI::App& command, std::vector<std::string>& settings);

}  // namespace smelt
