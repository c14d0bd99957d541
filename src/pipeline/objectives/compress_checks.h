// Checks the compress section of a recipe and converts its values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compress/quantize.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Throws UsageError if values of the section contradict each other or do not fit the type of model.
void check_compress(const Recipe& recipe);

// Returns the numbers of a field such as compress.batches, "1,8,32". Throws UsageError for anything
// else than positive integers.
std::vector<std::int64_t> numbers_in(const Recipe& recipe, const std::string& field,
                                     const std::string& list);

// Return compress.activations and compress.calibration. Throw UsageError for an unknown word.
compress::Activations activations_of(const Recipe& recipe);
compress::Calibration calibration_of(const Recipe& recipe);

// Returns whether the recipe fine-tunes a T5 on rows.
bool is_t5(const Recipe& recipe);

}  // namespace smelt::pipeline
