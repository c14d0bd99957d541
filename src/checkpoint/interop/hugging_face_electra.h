// A pre-trained ELECTRA as two Hugging Face folders: the discriminator, which transformers'
// ElectraForPreTraining and ElectraModel load, and the generator, for ElectraForMaskedLM.
// Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include "checkpoint/interop/model_folder.h"
#include "model/models/electra_config.h"

namespace smelt {

inline constexpr const char* kElectraClassifier = "ElectraForSequenceClassification";

// One of the encoders with its head, and where its parameters lie in a checkpoint.
struct ElectraPart {
  enum class Head { discriminator, generator };

  Head head = Head::discriminator;
  BertConfig encoder = {};
  std::int64_t embedding_size = 0;
  std::string scope = "electra";       // "generator" where that is another encoder
  std::string embeddings = "electra";  // whose embeddings it has
  std::int64_t labels = 0;  // outputs of a head that scores whole texts or tokens; 0: no such
  bool of_tokens = false;   // that head
};

ElectraPart electra_discriminator(const ElectraConfig& config);
// A masked LM, which has no other encoder, is the generator of a config with untied_generator
// false.
ElectraPart electra_generator_part(const ElectraConfig& config);

std::vector<ParameterName> electra_names(const ElectraPart& part);
// Returns `config`, the fields of an electra_config.json or null, with missing sizes inferred from
// the shapes of the parameters. The shapes do not determine the width of a head: it is 64 by
// default. Throws UsageError beginning with `where` if a field differs from the parameters.
Json with_electra_sizes(Json config, const LazyTensors& parameters, const std::string& where);
// The config.json of a class of transformers'.
Json electra_part_config(const ElectraPart& part, std::string_view class_name);

// Its sizes, without what matters in training alone: what must be the same where it is used.
Json electra_sizes(const ElectraPart& part);

// `model.config` and `max_tokens` are made from the part. UsageError as write_model_folder() has
// it, and for an activation that transformers' class does not have in its head.
void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         OutputDirectory::Earlier earlier = OutputDirectory::Earlier::refused);

// The same with other parameters than model.parameters, each read when it is written.
void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         const LazyTensors& parameters, const FolderForm& form);

struct HuggingFaceElectra {
  ElectraPart part;
  ModelFolder model;
};
// A generator comes with embeddings of its own: parameters "generator/…". UsageError when a file or
// a tensor is missing, for another shape, and for what is neither of the two classes.
HuggingFaceElectra import_hugging_face_electra(const std::string& folder);
// The parameters are read when they are wanted. A head may be missing.
struct OpenedElectra {
  ElectraPart part;
  OpenedFolder folder;
};
OpenedElectra open_hugging_face_electra(const std::string& folder);

}  // namespace smelt
