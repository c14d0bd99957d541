// The recipe that a run keeps in its folder, so that the folder alone is enough to go on with it.
#pragma once

#include <optional>
#include <string>

#include "pipeline/recipe.h"

namespace smelt {

// Writes <out>/recipe.yaml: every field with its value, but for those that a given vocabulary sets;
// local paths as absolute ones, so that they hold wherever the folder is named from.
void keep_recipe(const Recipe& recipe);

// The folder of the run that a path names: that folder itself, its model/ or its recipe.yaml;
// nullopt where no run has kept its recipe.
std::optional<std::string> run_named_by(const std::string& path);

// UsageError where a run of another model.type has kept its recipe in the recipe's folder.
void check_kept_type(const Recipe& recipe);

// Returns the single values of a recipe's file by their paths ("train.optimizer.type"), as they are
// written there.
FieldValues recipe_file_fields(const std::string& file);

// Where the run's recipe lies.
std::string kept_recipe_path(const std::string& run);

}  // namespace smelt
