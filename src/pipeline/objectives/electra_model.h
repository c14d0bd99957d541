// Fills in the settings of an ELECTRA task that depend on a run's files, and exports ELECTRA models
// for transformers. Used by recipes and by the command that is compatible with the original
// program.
#pragma once

#include <string>
#include <vector>

#include "execution/inference/scorer.h"
#include "io/filesystem/file.h"
#include "model/tasks/electra_task.h"
#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// Returns the ids of the special tokens. Throws UsageError if one of them is missing.
model::ElectraIds special_ids(const text::Vocabulary& vocabulary);

// Returns `settings` with vocab_size, ids and majority_token set from the vocabulary and the
// training records. Throws UsageError as described in pipeline/config/vocabulary_facts.h.
model::ElectraTask with_files(model::ElectraTask settings, const text::Vocabulary& vocabulary,
                              const std::vector<std::string>& records,
                              const std::string& size_name);

// Returns whether the generator fits transformers' ElectraForMaskedLM, whose head uses gelu.
bool has_hugging_face_generator(const model::ElectraTask& task);

// Returns a line about the discriminator's accuracy beside that of a constant prediction.
std::string discriminator_remark(const execution::Evaluation& evaluation);

struct ElectraExportJob {
  model::ElectraTask task;
  std::string model_dir, vocab;
  text::TokenizerOptions tokenizer;  // used if the vocabulary has no stored settings
  std::string folder;
  io::OutputDirectory::Earlier earlier = io::OutputDirectory::Earlier::refused;
  bool averaged = true;  // see load_trained_model()
};
// Writes the Hugging Face folders discriminator/ and generator/, if the model has that part and
// transformers has a class for it. Throws UsageError if there is no checkpoint, if it belongs to
// another model or vocabulary, or if a folder already exists.
void export_electra(const ElectraExportJob& job);

}  // namespace smelt::pipeline
