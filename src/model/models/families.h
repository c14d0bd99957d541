// The list of all model families: the only place that names them all. Each module that has a part
// of every family expands the list, so a new family is one line here and its own files.
//   ENCODER(name)  defines `EncoderFamily name_encoder_family()` in model/models and
//                  `StoredFamily name_stored_family()` in checkpoint/interop
//   OTHER(name)    defines the second of these alone: a model without heads for classification
#pragma once

#define SMELT_MODEL_FAMILIES(ENCODER, OTHER) \
  ENCODER(bert)                              \
  ENCODER(electra)                           \
  OTHER(t5)                                  \
  OTHER(jestimator_bert)
