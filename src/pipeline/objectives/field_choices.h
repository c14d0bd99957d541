// The words that recipe fields take, for help and completion.
#pragma once

#include <string>
#include <vector>

#include "pipeline/objectives/load_recipe.h"

namespace smelt::pipeline {

// Returns the words that a field takes, "true" and "false" of a switch; empty for a field with any
// value.
std::vector<std::string> field_choices(const RecipeField& field);

}  // namespace smelt::pipeline
