// Converts lengths of training in other units to steps.
#pragma once

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the recipe with train.steps, eval.every, and the warmup_steps and decay_steps of
// train.schedule computed from the fields that replace them: train.epochs, train.length,
// eval.every_epochs, and the schedule's warmup, decay, warmup_ratio and decay_ratio. Before the
// examples are made, their number is estimated from the text. If that is not possible, epochs are
// not converted.
Recipe with_epochs(Recipe recipe);

// Returns a remark that the number of steps is unknown or estimated, if train.epochs is set but the
// examples are not made yet; otherwise empty.
std::string unknown_epochs_remark(const Recipe& recipe);

}  // namespace smelt::pipeline
