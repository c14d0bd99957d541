// ELECTRA's task out of settings and the files of a run, for recipes and for the original's
// command.
#pragma once

#include <string>
#include <vector>

#include "io/filesystem/file.h"
#include "model/tasks/electra_task.h"
#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// UsageError when one of them is missing.
ElectraIds special_ids(const Vocabulary& vocabulary);

// The settings with what the vocabulary and the training data say: vocab_size, ids, majority_token.
// UsageError as pipeline/vocabulary_facts.h has it.
ElectraTask with_files(ElectraTask settings, const Vocabulary& vocabulary,
                       const std::vector<std::string>& records, const std::string& size_name);

// Whether transformers' ElectraForMaskedLM, which has gelu in its head, can hold the generator.
bool has_hugging_face_generator(const ElectraTask& task);

struct ElectraExportJob {
  ElectraTask task;
  std::string model_dir, vocab;
  TokenizerOptions tokenizer;  // where nothing beside the vocabulary says it
  std::string folder;
  OutputDirectory::Earlier earlier = OutputDirectory::Earlier::refused;
  bool averaged = true;  // as load_trained_model has it
};
// Writes the Hugging Face folders discriminator/ and generator/, as far as the model has them and
// transformers a class for them. UsageError when there is no checkpoint, one of another model or
// vocabulary, or when something is in the way.
void export_electra(const ElectraExportJob& job);

}  // namespace smelt
