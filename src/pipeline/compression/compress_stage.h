// The stage of a recipe that compresses the exported model and writes a report (section compress).
#pragma once

#include <functional>
#include <string>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns <out>/compress.
std::string compress_folder(const Recipe& recipe);

// A function that runs a recipe.
using RunRecipe = std::function<void(const Recipe&)>;

// Replaces the folder compress_folder(). It contains training, development and test rows, the
// models that the section enables (cut/: pruned, taught/: fine-tuned, int8/: quantized), and
// report.html and report.json. Development rows are the held-out rows and test rows are data.test.
// Without data.test, development and test rows are alternate held-out rows. `run` is called with
// the recipe that fine-tunes the (pruned) model, with the original model as its teacher.
void compress_model(const Recipe& recipe, const RunRecipe& run);

}  // namespace smelt::pipeline
