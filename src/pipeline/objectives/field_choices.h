// The possible values of recipe fields, for help and shell completion.
#pragma once

#include <string>
#include <vector>

#include "pipeline/objectives/load_recipe.h"

namespace smelt::pipeline {

// Returns the possible values of a field; for a boolean "true" and "false". Empty if the field may
// have any value.
std::vector<std::string> field_choices(const RecipeField& field);

}  // namespace smelt::pipeline
