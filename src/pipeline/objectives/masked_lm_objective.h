// Masked-LM pretraining without next-sentence prediction, shared by RoBERTa and ModernBERT.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"

namespace smelt::pipeline {

// The properties of an encoder family that its objective type depends on.
struct MaskedLmFamily {
  std::string name;                     // in model/models/encoder_family.h
  std::string help;                     // one line
  std::vector<io::ConfigField> fields;  // the encoder's fields in the section `model`
  double mask_prob = 0.15;              // default of model.mask_prob
};

ObjectiveType masked_lm_objective_type(const MaskedLmFamily& family);

// Sets the fields of the section `data` and the function that makes examples: texts without masks,
// which are drawn in each step.
void use_unmasked_examples(ObjectiveType& type);

// Writes the trained model of a recipe as a Hugging Face folder of an encoder family. `config` is
// the config of its encoder.
void export_family(const std::string& family, const Json& config, const Recipe& recipe,
                   const std::string& folder);

}  // namespace smelt::pipeline
