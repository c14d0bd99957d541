// What a job at Google needs of a recipe.
#pragma once

#include <string>

#include "cloud/doctor.h"
#include "recipe/recipe.h"

namespace smelt {

// The recipe as a dry run here judges it; that this machine has no such device is no fault.
DoctorCheck recipe_check(const std::string& path, const std::vector<std::string>& settings);

}  // namespace smelt
