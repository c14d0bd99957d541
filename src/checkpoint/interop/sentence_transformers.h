// Reads and writes embedding models as folders of the library sentence-transformers: a Hugging Face
// folder of the encoder with modules.json, 1_Pooling/config.json and 2_Normalize. Written folders
// have the layout that versions 2 to 6 read.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/stored_model.h"
#include "io/formats/embedding_form.h"
#include "model/models/classifier.h"

namespace smelt::checkpoint {

// Returns whether a folder holds an embedding model of sentence-transformers: it has modules.json
// and is not a CrossEncoder, which has modules.json since version 6.
bool is_sentence_transformer(const std::string& folder);

// Returns the settings in the folder of a sentence-transformers model, or nullopt if it is not
// is_sentence_transformer(). Throws UsageError if the folder has a module other than the encoder,
// pooling and normalization, or if the pooling is neither mean nor cls.
std::optional<io::EmbeddingForm> sentence_transformers_form(const std::string& folder);

// Returns the folder of the encoder in a sentence-transformers folder: the folder itself, or in old
// layouts its 0_Transformer. Returns "" if there is no modules.json.
std::string encoder_folder(const std::string& folder);

// Returns the settings of a stored embedding model: those of a smelt checkpoint of model.type
// embedding or of a sentence-transformers folder; nullopt for any other model. Throws like
// sentence_transformers_form().
std::optional<io::EmbeddingForm> stored_embedding_form(const StoredModel& model);

// Returns the encoder's config with gelu by erf if the model is a BERT in a Hugging Face folder
// that transformers would compute so. Embeddings then equal those of transformers.
Json with_gelu_of_folder(Json config, const std::string& folder);

// An embedding model with its vocabulary.
struct SentenceTransformersModel {
  model::Encoder encoder;
  io::EmbeddingForm form;
  ModelFolder folder;  // its config, parameters and max_tokens are ignored
};

// Writes the folder. Throws UsageError in the same cases as write_model_folder().
void export_sentence_transformers(const std::string& folder, SentenceTransformersModel model,
                                  const io::LazyTensors& parameters, const FolderForm& form);

}  // namespace smelt::checkpoint
