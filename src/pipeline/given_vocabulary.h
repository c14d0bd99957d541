// Where a recipe's vocabulary is from when it is not made of its text.
#pragma once

#include <optional>
#include <string>

#include "checkpoint/storage/checkpoint.h"
#include "pipeline/recipe.h"

namespace smelt {

// The vocab.txt, tokenizer.json, or a T5's spiece.model, that lies beside weights as
// train.init_from names them: in their folder, or, where a checkpoint of smelt's tells its
// vocabulary's checksum, in the recipe's folder around it. nullopt: none, or another than the
// checksum's.
std::optional<std::string> vocabulary_beside(const std::string& weights);

// The newest state of the run in the recipe's model folder, which goes on with its model; none
// where it is to begin anew.
std::optional<SavedState> begun_state(const Recipe& recipe);
// Whether a run has a checkpoint and its own vocabulary, and so needs neither what it began with.
bool has_begun(const Recipe& recipe);

// vocab.file, else what lies beside train.init_from; empty where the vocabulary is made of the
// text. UsageError for weights with no vocabulary beside them and none named: whose embeddings are
// by the rows of another vocabulary. A path that is not there where the weights of a run that has
// begun are gone.
std::string given_vocabulary(const Recipe& recipe);

// Returns the vocabulary of the encoder in a run's folder, vocab.txt or tokenizer.json; nullopt if
// there is none.
std::optional<std::string> vocabulary_in_run(const std::string& run);

// Sets vocab.type to auto, whose vocabulary is a tokenizer.json, if the given vocabulary is the
// tokenizer.json of a Unigram or BPE model and the recipe's model is an encoder.
void take_vocabulary_form(Recipe& recipe);

// With as many word pieces as the vocabulary has that is given, and the program of so many.
// UsageError if a model that is fine-tuned has fewer embedding rows.
Recipe with_given_size(Recipe recipe);

// A warning where vocab.size is set to another number than that of the given vocabulary's pieces.
void warn_of_unread_size(const Recipe& recipe, const std::string& given, std::int64_t pieces);

}  // namespace smelt
