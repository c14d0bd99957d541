// The stage of a recipe that makes the exported model smaller and reports on it (section compress).
#pragma once

#include <functional>
#include <string>

#include "pipeline/recipe.h"

namespace smelt {

// <out>/compress.
std::string compress_folder(const Recipe& recipe);

// Runs the recipe of a pruned model, which learns from the model that was trained.
using RunRecipe = std::function<void(const Recipe&)>;

// Replaces that folder: rows that the model was trained on, those of development and of the test;
// cut/, int8/ as far as the section wants them; report.html and report.json. Development are the
// held-out rows and the test data.test; where there is none, every second held-out row is of
// either.
void compress_model(const Recipe& recipe, const RunRecipe& run);

}  // namespace smelt
