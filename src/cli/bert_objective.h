// model.type: bert.
#pragma once

#include "cli/objective_type.h"

namespace smelt {

ObjectiveType bert_objective();

}  // namespace smelt
