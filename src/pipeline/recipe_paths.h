// Where a recipe's stages put their files, and how its vocabulary is read.
#pragma once

#include <string>
#include <vector>

#include "pipeline/recipe.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt {

// Where a recipe's stages put what they make, or find what they are given.
struct RecipePaths {
  explicit RecipePaths(const Recipe& recipe);
  std::string train_text, heldout_text, vocab;
  // What examples are made into; with data.shards above 1 the name that shards are called by.
  std::string train_output, heldout_output;
  // What is read, as open_examples takes it: those, or data.records and data.heldout.
  std::string train_records, heldout_records;
  std::string test_records;  // empty: the data have no test
  std::string model_dir, evaluation, hugging_face;
  std::string trained;      // Recipe::trained, or the folder whose newest checkpoint is used
  std::string scored;       // the records of eval.split; empty: there are none
  std::string predictions;  // what is said of each of them

 private:
  void name_records(const Recipe& recipe);
};

// The files of RecipePaths::train_records or heldout_records; none where none match.
std::vector<std::string> record_files(const std::string& records);

// Empty where the recipe's stages made none, as for a model of no words.
std::string made_vocabulary(const RecipePaths& paths);

TokenizerFlags tokenizer_flags(const Recipe& recipe);

// The recipe's, once it was made; UsageError before.
std::string vocabulary_path(const Recipe& recipe);
Vocabulary vocabulary_of(const Recipe& recipe);

// The files of text.input; UsageError when there are none.
std::vector<std::string> text_inputs(const Recipe& recipe);

}  // namespace smelt
