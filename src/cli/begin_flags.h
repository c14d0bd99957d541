// --resume, --fresh, --overwrite and --init-from of the commands that train a recipe's model.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/recipe_option.h"
#include "recipe/pipeline.h"

namespace smelt {

struct BeginFlags {
  bool resume = false, fresh = false, overwrite = false;
  std::string init_from;

  Beginning beginning() const;
  // --init-from over what the recipe says.
  Recipe load(RecipeOption recipe) const;
};

std::shared_ptr<BeginFlags> add_begin_flags(CLI::App& command);

}  // namespace smelt
