// What a recipe says by passes over its examples, in steps.
#pragma once

#include "recipe/recipe.h"

namespace smelt {

// With train.steps, train.warmup_steps and eval.every as train.epochs, train.warmup_ratio and
// eval.every_epochs say them, once the examples are there; till then, and where these are 0, as it
// is.
Recipe with_epochs(Recipe recipe);

// A remark where train.epochs is given and the examples are not there: how many steps it comes to
// is not known yet. Else empty.
std::string uncounted_epochs(const Recipe& recipe);

}  // namespace smelt
