// The copy of the recipe in a run's folder, which is all that is needed to resume the run.
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Writes <out>/recipe.yaml with every field and its value, except those that an existing vocabulary
// determines. Local paths are written as absolute paths, so that they are valid from any working
// directory.
void keep_recipe(const Recipe& recipe);

// Returns the folder of the run if `path` is a run's folder, its model/ or its recipe.yaml; nullopt
// otherwise.
std::optional<std::string> run_named_by(const std::string& path);

// Throws UsageError if the recipe's folder contains a run of another model.type.
void check_stored_type(const Recipe& recipe);

// Returns the scalar values of a recipe file as written, by their paths ("train.optimizer.type").
FieldValues recipe_file_fields(const std::string& file);

// Returns the path of a run's recipe file.
std::string kept_recipe_path(const std::string& run);

}  // namespace smelt::pipeline
