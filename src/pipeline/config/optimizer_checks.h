// Checks of the sections train.optimizer and train.schedule of a recipe.
#pragma once

#include "pipeline/config/recipe_checks.h"

namespace smelt::pipeline {

// Throw UsageError for a value out of range, an unknown name, or a field that the optimizer or
// schedule type does not use.
void check_schedule(const RecipeChecks& checks, const train::TrainConfig& train);
void check_optimizer(const RecipeChecks& checks,
                     const train::TrainConfig& train);  // also checks its schedule

}  // namespace smelt::pipeline
