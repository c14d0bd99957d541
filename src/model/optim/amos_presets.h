// NameRules of Amos for models by the names of their parameters.
#pragma once

#include <string_view>
#include <vector>

#include "model/optim/rules.h"

namespace smelt {

struct AmosPreset {
  std::string name;
  std::vector<NameRule> eta, slot_shape;
};

// bert: BERT and ELECTRA by TensorFlow's names; jestimator_bert: JEstimator's by flax's; t5: by
// T5X's names or the original's.
const std::vector<AmosPreset>& amos_presets();
// The preset of a kind of model; one without rules where none is made for it.
AmosPreset amos_preset_for(std::string_view model_type);

}  // namespace smelt
