// The optimizer as a recipe's train section names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/optim/optimizer.h"
#include "model/optim/parameter_rules.h"
#include "pipeline/recipe.h"
#include "pipeline/recipe_checks.h"

namespace smelt {

const std::vector<std::string>& optimizer_names();

// The rules of amos_preset: auto are those made for `model_type`. UsageError for a rule that cannot
// be read.
Optimizer optimizer_of(const TrainSection& train, std::string_view model_type);
// Of the gradient over all parameters; 0: not clipped.
double clip_norm_of(const TrainSection& train);
double clip_value_of(const TrainSection& train);  // of its elements; 0: not clipped
// `layer_rates` are rules behind train.rate_rules. UsageError for a rule that cannot be read.
ParameterRules parameter_rules_of(const TrainSection& train, const std::string& layer_rates = {});

void check_optimizer(const RecipeChecks& checks, const TrainSection& train);

}  // namespace smelt
