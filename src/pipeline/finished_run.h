// Changes of settings to a run that has no training step left.
#pragma once

#include "pipeline/recipe.h"

namespace smelt {

// Throws a UsageError if the run in the recipe's folder has made its last step and the recipe
// changes a setting of training against the one that the run keeps: no step would be made with it.
// Devices and how the program runs on them may change, as evaluation uses them. A run that was
// trained beyond train.steps is not checked. Writes nothing.
void check_finished_run_keeps_settings(const Recipe& recipe);

}  // namespace smelt
