// A rehearsal of a recipe on this machine's CPU.
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// Settings over a recipe that make its model small and its training a few minutes on a CPU. Text,
// vocabulary and examples stay the recipe's; the folder is the recipe's with "-small" behind it.
std::vector<std::string> small_settings(const Recipe& recipe);

// If `settings`, the user's, have train.steps, adds settings that turn off the other fields by
// which the recipe may set its length, because a small run is measured in steps.
void add_step_settings(std::vector<std::string>& settings);

}  // namespace smelt
