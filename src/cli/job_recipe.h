// What a job at Google needs of a recipe.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cloud/doctor.h"
#include "plan/accelerator.h"
#include "recipe/recipe.h"

namespace smelt {

// The recipe as a dry run here judges it; that this machine has no such device is no fault. With a
// type: for a job on it.
DoctorCheck recipe_check(const std::string& path, const std::vector<std::string>& settings,
                         const Accelerator* type = nullptr);

// A recipe whose files lie in a job's folder of the bucket.
struct StagedRecipe {
  std::vector<std::pair<std::string, std::string>> files;  // here, there
  std::string text;                                        // YAML, all that was set
};
// Files that are in a bucket already stay where they are. UsageError for one that is not there.
StagedRecipe staged_recipe(const Recipe& recipe, const std::string& folder);

}  // namespace smelt
