// Converts fields in passes over the examples to steps.
#pragma once

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the recipe with train.steps, train.schedule.warmup_steps and eval.every computed from
// train.epochs, train.tokens, train.schedule.warmup_ratio and eval.every_epochs. Before the
// examples are made, their number is estimated from the text; without a text the steps are
// unchanged.
Recipe with_epochs(Recipe recipe);

// Returns a remark if train.epochs is set but the examples are not made yet, so that the number of
// steps is unknown; otherwise empty.
std::string unknown_epochs_remark(const Recipe& recipe);

}  // namespace smelt::pipeline
