// Names of settings in messages: recipe fields or flags, depending on the command.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// Converts the name of a setting to the one that the user knows: "parallelism.rules" to
// "train.parallelism.rules" in a recipe, or to "--mesh-rules". A name without one of a recipe's
// other sections in front is a field of `train`.
using Fields = std::function<std::string(const std::string& name)>;
std::string recipe_field(const std::string& name);
// Returns the flag of the setting.
std::string flag(const std::string& name);

}  // namespace smelt
