// Settings and initial weights that a run started with. A checkpoint does not contain the source of
// its initial weights or the original learning rate.
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Stores them next to the records of the stages, before a new model starts training.
void note_beginning(const Recipe& recipe);

// Returns how the recipe differs from what its folder's model started with:
// "train.optimizer.learning_rate was 0.001, is 1e-07", "weights: /bert/model.safetensors has other
// content than before". Ignores settings that do not affect the result, such as devices and
// checkpoint intervals, and weights that no longer exist. nullopt if nothing differs, no model has
// started, or nothing was stored.
std::optional<std::string> begun_otherwise(const Recipe& recipe);
// Returns the difference in the initial weights alone.
std::optional<std::string> begun_with_other_weights(const Recipe& recipe);

}  // namespace smelt::pipeline
