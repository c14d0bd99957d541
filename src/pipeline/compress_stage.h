// The stage of a recipe that makes the exported model smaller and reports on it (section compress).
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// UsageError for values of the section that do not fit each other or the type of model.
void check_compress(const Recipe& recipe);

// <out>/compress.
std::string compress_folder(const Recipe& recipe);

// Replaces that folder: rows that the model was trained on, those of development and of the test;
// cut/, int8/ as far as the section wants them; report.html and report.json. Development are the
// held-out rows and the test data.test; where there is none, every second held-out row is of
// either.
void compress_model(const Recipe& recipe);

}  // namespace smelt
