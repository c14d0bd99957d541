// The list of all model families, as an X macro. Each module that has a part for every family
// expands the list, so a new family is one line here and its own files.
//   OTHER(name)    a model without classification heads; needs
//                  `const StoredFamily& name_stored_family()` in checkpoint/interop and
//                  `ObjectiveType name_objective()` in pipeline
//   ENCODER(name)  an encoder with classification heads; needs the same two functions and
//                  `EncoderFamily name_encoder_family()` in model/models
#pragma once

#define SMELT_MODEL_FAMILIES(ENCODER, OTHER) \
  ENCODER(bert)                              \
  ENCODER(electra)                           \
  OTHER(jestimator_bert)                     \
  OTHER(t5)                                  \
  ENCODER(roberta)                           \
  ENCODER(modernbert)                        \
  ENCODER(deberta)
