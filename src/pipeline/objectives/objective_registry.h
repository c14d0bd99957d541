// The types of model that a recipe can name as its model.type, by their names.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// Adds a type. Its name must not be in use yet.
void add_objective_type(ObjectiveType type);
std::vector<const ObjectiveType*> objective_types();
// Returns the type of this name. Throws UsageError, which begins with `where`, if there is none.
const ObjectiveType& objective_type(const std::string& name, const std::string& where);

}  // namespace smelt::pipeline
