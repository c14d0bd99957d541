// The list of all kinds of models. To add a kind that is not a model family, declare its function
// here and add it to all_objectives().
#pragma once

#include <vector>

#include "model/models/families.h"
#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// Declares the pretraining objective of each model family, defined in <name>_objective.cpp.
#define SMELT_DECLARE(name) ObjectiveType name##_objective();
SMELT_MODEL_FAMILIES(SMELT_DECLARE, SMELT_DECLARE)
#undef SMELT_DECLARE
ObjectiveType deberta_rtd_objective();   // deberta_rtd_objective.cpp
ObjectiveType classify_objective();      // classify_objective.cpp
ObjectiveType embedding_objective();     // embedding_objective.cpp
ObjectiveType text_to_text_objective();  // text_to_text_objective.cpp

inline std::vector<ObjectiveType> all_objectives() {
#define SMELT_ENTRY(name) name##_objective(),
  return {SMELT_MODEL_FAMILIES(SMELT_ENTRY, SMELT_ENTRY) deberta_rtd_objective(),
          classify_objective(), embedding_objective(), text_to_text_objective()};
#undef SMELT_ENTRY
}

}  // namespace smelt::pipeline
