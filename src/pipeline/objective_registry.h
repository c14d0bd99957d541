// The types of model that a recipe can name as its model.type, by their names.
#pragma once

#include <string>
#include <vector>

#include "pipeline/objective_type.h"

namespace smelt {

// A name already known is a bug.
void add_objective_type(ObjectiveType type);
std::vector<const ObjectiveType*> objective_types();
// UsageError beginning with `where` for an unknown one.
const ObjectiveType& objective_type(const std::string& name, const std::string& where);

}  // namespace smelt
