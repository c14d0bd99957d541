// Names of settings in messages, either as recipe fields or as flags.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// Maps the name of a setting to how the user writes it: "mesh_rules" to "train.mesh_rules" or
// "--mesh-rules". A name without a section belongs to the recipe's section `train`.
using Fields = std::function<std::string(const std::string& name)>;
std::string recipe_field(const std::string& name);
// Returns the flag of the setting.
std::string flag(const std::string& name);

}  // namespace smelt
