// Names of settings in messages: recipe fields or flags, depending on the command.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// Converts the name of a setting to the one that the user knows: "mesh_rules" to "train.mesh_rules"
// in a recipe, or to "--mesh-rules". A name without a section belongs to the recipe's `train`.
using Fields = std::function<std::string(const std::string& name)>;
std::string recipe_field(const std::string& name);
std::string flag(const std::string& name);

}  // namespace smelt
