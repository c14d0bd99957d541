// Masked-LM pretraining without next-sentence prediction, shared by RoBERTa and ModernBERT.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// The properties of an encoder family that its objective type depends on.
struct MaskedLmFamily {
  std::string name;                     // in model/models/encoder_family.h
  std::string help;                     // one line
  std::vector<io::ConfigField> fields;  // under model:, those of the encoder and of masking
  // Returns the share of masked tokens.
  std::function<double(const Recipe&)> mask_prob;
};

ObjectiveType masked_lm_objective_type(const MaskedLmFamily& family);

}  // namespace smelt::pipeline
