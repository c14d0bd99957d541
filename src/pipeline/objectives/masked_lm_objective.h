// Masked-LM pre-training of an encoder family without next sentences: what RoBERTa and ModernBERT
// share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// What differs between the families.
struct MaskedLmFamily {
  std::string name;                     // in model/models/encoder_family.h
  std::string help;                     // one line
  std::vector<io::ConfigField> fields;  // under model:, those of the encoder and of masking
  // Returns the share of masked tokens.
  std::function<double(const Recipe&)> mask_prob;
};

ObjectiveType masked_lm_objective_type(const MaskedLmFamily& family);

}  // namespace smelt::pipeline
