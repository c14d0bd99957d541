// A recipe for training a compressed model with the original model as its teacher.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the recipe of `run` with its model as the teacher, the weights of `student` and the
// output folder `out`; compression is off. Throws UsageError as load_recipe() does, and if the
// weights belong to another kind of model.
Recipe distill_recipe(const std::string& run, const std::string& student, const std::string& out,
                      const std::vector<std::string>& settings);

}  // namespace smelt::pipeline
