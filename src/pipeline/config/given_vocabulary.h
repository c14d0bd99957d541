// The existing vocabulary of a recipe that does not make one from its text.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/storage/checkpoint.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the path of the vocabulary (vocab.txt, tokenizer.json or a T5's spiece.model) of
// `weights`, which train.init_from names. Searches the folder of the weights and, for a smelt
// checkpoint that stores its vocabulary's checksum, the run's folder above it. nullopt if it is
// missing or its checksum differs.
std::optional<std::string> vocabulary_beside(const std::string& weights);

// Returns the latest state in the recipe's model folder, from which the run resumes; nullopt if
// there is none or the model is to be overwritten. Throws UsageError as check_stored_type() does.
std::optional<checkpoint::SavedState> state_to_resume(const Recipe& recipe);
// Returns whether the run has a checkpoint and its own vocabulary, so that it no longer needs the
// original weights and vocabulary.
bool has_begun(const Recipe& recipe);

// Returns vocab.file, or else the vocabulary of train.init_from; empty if the vocabulary is made
// from the text. Throws UsageError if the vocabulary of train.init_from is missing and vocab.file
// is not set, because a new vocabulary would not match the embeddings. If a run has begun and its
// initial weights are gone, returns a path that does not exist.
std::string given_vocabulary(const Recipe& recipe);

// Returns the path of an encoder's vocabulary, vocab.txt or tokenizer.json, in a run's folder;
// nullopt if the folder has neither.
std::optional<std::string> vocabulary_in_run(const std::string& run);

// Sets vocab.type to auto if the recipe's model is an encoder and its existing vocabulary is the
// tokenizer.json of a Unigram or BPE model. The run then also stores a tokenizer.json.
void set_vocabulary_type(Recipe& recipe);

// Returns the recipe with vocab.size set to the size of the existing vocabulary, and checks it
// again with that size. Throws UsageError if a model that is fine-tuned has fewer embedding rows.
Recipe with_existing_size(Recipe recipe);

// Logs a warning if vocab.size is set to a value other than its default and differs from `pieces`,
// the number of pieces of the existing vocabulary. `given` is the path of that vocabulary.
void warn_about_ignored_size(const Recipe& recipe, const std::string& given, std::int64_t pieces);

}  // namespace smelt::pipeline
