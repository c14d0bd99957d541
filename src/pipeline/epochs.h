// What a recipe says by passes over its examples, in steps.
#pragma once

#include "pipeline/recipe.h"

namespace smelt {

// Returns the recipe with train.steps, train.schedule.warmup_steps and eval.every set from
// train.epochs, train.tokens, train.schedule.warmup_ratio and eval.every_epochs. Before the
// examples are made their number is estimated from the text; without a text steps stay what they
// are.
Recipe with_epochs(Recipe recipe);

// A remark where train.epochs is given and the examples are not there: how many steps it comes to
// is not known yet. Else empty.
std::string uncounted_epochs(const Recipe& recipe);

}  // namespace smelt
