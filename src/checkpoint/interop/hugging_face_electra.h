// Reads and writes a pretrained ELECTRA as two Hugging Face folders: the discriminator, which
// transformers' ElectraForPreTraining and ElectraModel load, and the generator for
// ElectraForMaskedLM. Format: docs/reference/formats/checkpoint.md, "Hugging Face folder".
#pragma once

#include "checkpoint/interop/model_folder.h"
#include "model/models/electra_config.h"

namespace smelt::checkpoint {

inline constexpr const char* kElectraClassifier = "ElectraForSequenceClassification";

// The discriminator or the generator: its sizes, its head and the scopes of its parameters.
struct ElectraPart {
  enum class Head { discriminator, generator };

  Head head = Head::discriminator;
  model::BertConfig encoder = {};
  std::int64_t embedding_size = 0;
  std::string scope = "electra";       // scope of the encoder; "generator" if untied
  std::string embeddings = "electra";  // scope of the embeddings
  std::int64_t labels = 0;             // outputs of a classification head; 0: no such head
  bool of_tokens = false;              // whether that head classifies tokens, not texts
};

// Returns the discriminator of an ELECTRA.
ElectraPart electra_discriminator(const model::ElectraConfig& config);
// Returns the generator of an ELECTRA. If untied_generator is false, the parameters of its encoder
// have the discriminator's names: the two parts share one encoder, or the generator is alone (a
// masked LM).
ElectraPart electra_generator_part(const model::ElectraConfig& config);

// Returns the names of all parameters of one part.
std::vector<ParameterName> electra_names(const ElectraPart& part);
// Returns `config`, the fields of an electra_config.json or null, with missing sizes inferred from
// the shapes of the parameters. The shapes do not determine the width of a head: it is 64 by
// default. Throws UsageError beginning with `where` if a field differs from the parameters.
Json with_electra_sizes(Json config, const io::LazyTensors& parameters, const std::string& where);
// Returns transformers' config.json for class `class_name`.
Json electra_part_config(const ElectraPart& part, std::string_view class_name);

// Returns the encoder's config and embedding_size, to compare two parts. Omits the dropout rates
// and initializer_range, which may differ.
Json electra_sizes(const ElectraPart& part);

// Writes one part as a folder. model.config and model.max_tokens are ignored; both are derived from
// `part`. Throws UsageError in the same cases as write_model_folder(), and for a generator whose
// activation is not gelu, because transformers' generator head supports no other.
void export_hugging_face(
    const std::string& folder, const ElectraPart& part, ModelFolder model,
    io::OutputDirectory::Earlier earlier = io::OutputDirectory::Earlier::refused);

// Writes `parameters` instead of model.parameters, reading each one when it is written.
void export_hugging_face(const std::string& folder, const ElectraPart& part, ModelFolder model,
                         const io::LazyTensors& parameters, const FolderForm& form);

// One part with its parameters in memory.
struct HuggingFaceElectra {
  ElectraPart part;
  ModelFolder model;
};
// Reads the folder of one part. The names of all parameters of a generator, also of its embeddings,
// begin with "generator/". Throws UsageError if a file or tensor is missing, if a tensor has
// another shape, or if config.json names the class of neither part.
HuggingFaceElectra import_hugging_face_electra(const std::string& folder);
// One part whose parameters are read on demand.
struct OpenedElectra {
  ElectraPart part;
  OpenedFolder folder;
};
// Opens the folder of one part. Its head may be missing.
OpenedElectra open_hugging_face_electra(const std::string& folder);

}  // namespace smelt::checkpoint
