// Checks of the sections train.optimizer and train.schedule of a recipe.
#pragma once

#include "pipeline/recipe_checks.h"

namespace smelt {

// Throw UsageError for a value out of range, a word that is not known, or a field that the type
// does not read.
void check_schedule(const RecipeChecks& checks, const TrainConfig& train);
void check_optimizer(const RecipeChecks& checks, const TrainConfig& train);  // and its schedule

}  // namespace smelt
