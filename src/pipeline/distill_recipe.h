// The recipe by which a smaller model learns what a run's model says.
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"

namespace smelt {

// That of the run, whose model teaches, for a student's weights in a folder of its own: nothing
// is cut again. UsageError as load_recipe() has it, and for weights that are no such model's.
Recipe taught_recipe(const std::string& run, const std::string& student, const std::string& out,
                     const std::vector<std::string>& settings);

}  // namespace smelt
