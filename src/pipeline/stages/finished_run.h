// Check of the settings of a run that has finished its training.
#pragma once

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Throws UsageError if the run in the recipe's folder has finished training and the recipe changes
// a training setting, which would have no effect. Settings of devices and memory may change,
// because evaluation uses them. A run that was trained beyond train.steps is not checked. Writes
// nothing.
void check_finished_run_keeps_settings(const Recipe& recipe);

}  // namespace smelt::pipeline
