// What messages call a setting, in the words of the command that runs.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// From a recipe's name of a setting to the user's: "mesh_rules" to "train.mesh_rules" or
// "--mesh-rules". A name without a section is one of a recipe's `train`.
using Fields = std::function<std::string(const std::string& name)>;
std::string recipe_field(const std::string& name);
std::string flag(const std::string& name);

}  // namespace smelt
