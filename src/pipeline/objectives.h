// Every kind of model there is. A new one is its function here, and its place in the list.
#pragma once

#include <vector>

#include "pipeline/objective_type.h"

namespace smelt {

ObjectiveType bert_objective();             // bert_objective.cpp
ObjectiveType electra_objective();          // electra_objective.cpp
ObjectiveType jestimator_bert_objective();  // jestimator_objective.cpp
ObjectiveType t5_objective();               // t5_objective.cpp
ObjectiveType classify_objective();         // classify_objective.cpp
ObjectiveType text_to_text_objective();     // text_to_text_objective.cpp

inline std::vector<ObjectiveType> all_objectives() {
  return {bert_objective(), electra_objective(),  jestimator_bert_objective(),
          t5_objective(),   classify_objective(), text_to_text_objective()};
}

}  // namespace smelt
