// The schedule as a recipe's train section names it.
#pragma once

#include <string>
#include <vector>

#include "model/optim/schedule.h"
#include "pipeline/recipe.h"
#include "pipeline/recipe_checks.h"

namespace smelt {

const std::vector<std::string>& schedule_names();
Schedule schedule_of(const TrainSection& train);
void check_schedule(const RecipeChecks& checks, const TrainSection& train);

}  // namespace smelt
