// What a run's model was begun with: settings and given weights, by their content. Its checkpoints
// say neither whose weights it began with nor how its rates were before they were changed.
#pragma once

#include <optional>
#include <string>

#include "pipeline/recipe.h"

namespace smelt {

// Kept beside the stages' records, for a model that is about to begin.
void note_beginning(const Recipe& recipe);

// How what the recipe says is not what its folder's model was begun with:
// "train.optimizer.learning_rate was 0.001, is 1e-07", "weights: /bert/model.safetensors has other
// content than before". What does not change what is learned, as devices and how often to save, is
// not compared, nor are weights that are gone. nullopt where nothing differs, no model was begun,
// or nothing was noted.
std::optional<std::string> begun_otherwise(const Recipe& recipe);
// The same of the weights alone.
std::optional<std::string> begun_with_other_weights(const Recipe& recipe);

}  // namespace smelt
