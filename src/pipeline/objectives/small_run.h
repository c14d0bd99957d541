// A small trial run of a recipe on this machine's CPU.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns settings that reduce a recipe's model and training to a few minutes on a CPU. Text,
// vocabulary and examples are unchanged; the output folder has the suffix "-small".
std::vector<std::string> small_settings(const Recipe& recipe);

// If the user's `settings` contain train.steps, adds settings in front that disable the other
// fields for the length of training, such as train.epochs.
void add_step_settings(std::vector<std::string>& settings);

}  // namespace smelt::pipeline
