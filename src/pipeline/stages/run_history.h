// Settings and initial weights that a run started with. A checkpoint does not contain the source of
// its initial weights or the original learning rate.
#pragma once

#include <optional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Stores the recipe's settings and initial weights next to the records of the stages. Call it
// before a new model starts training.
void store_start_settings(const Recipe& recipe);

// Returns how the recipe differs from the settings and weights that its folder's model started
// with: "train.optimizer.learning_rate was 0.001, is 1e-07", "weights: /bert/model.safetensors has
// other content than before". Ignores settings that do not affect the result, such as devices and
// checkpoint intervals, and weights that no longer exist. nullopt if nothing differs, no model has
// started, or nothing was stored.
std::optional<std::string> changes_since_start(const Recipe& recipe);
// Returns only the difference in the initial weights; nullopt if they are the same.
std::optional<std::string> changed_initial_weights(const Recipe& recipe);

}  // namespace smelt::pipeline
