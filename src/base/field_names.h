// Names of settings in messages, either as recipe fields or as flags.
#pragma once

#include <functional>
#include <string>

namespace smelt {

// Maps the name of a setting to how the user writes it: "parallelism.rules" to
// "train.parallelism.rules" in a recipe, or to "--mesh-rules". A name belongs to the section
// `train` unless it begins with the name of another section, such as "vocab.".
using Fields = std::function<std::string(const std::string& name)>;
std::string recipe_field(const std::string& name);
// Returns the flag of the setting.
std::string flag(const std::string& name);

}  // namespace smelt
