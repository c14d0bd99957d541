// Amos rules for known model families.
#pragma once

#include <string_view>
#include <vector>

#include "model/optim/rules.h"

namespace smelt::model {

// The rules for one family of parameter names.
struct AmosPreset {
  std::string name;
  std::vector<NameRule> eta, slot_shape;
};

// Returns all presets: "bert" for BERT and ELECTRA with TensorFlow's parameter names,
// "jestimator_bert" for JEstimator's BERT with Flax's names, and "t5" for T5 with T5X's or the
// original names.
const std::vector<AmosPreset>& amos_presets();
// Returns the preset for a model type, or one without rules if there is none.
AmosPreset amos_preset_for(std::string_view model_type);

}  // namespace smelt::model
