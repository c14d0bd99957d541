// Paths of a recipe's files, and its vocabulary.
#pragma once

#include <string>
#include <vector>

#include "pipeline/config/recipe.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::pipeline {

// Paths of a recipe's inputs and outputs.
struct RecipePaths {
  explicit RecipePaths(const Recipe& recipe);
  std::string train_text, heldout_text, vocab;
  // Files to write examples to; with data.shards above 1, the common name of the shards.
  std::string train_output, heldout_output;
  // Files to read examples from, in the form that open_examples() accepts: the files above, or
  // data.records and data.heldout.
  std::string train_records, heldout_records;
  std::string test_records;  // empty: no test set
  std::string model_dir, evaluation, hugging_face;
  std::string trained;      // Recipe::trained, or the folder whose newest checkpoint is used
  std::string scored;       // the records of the split to evaluate (eval.split); empty: none
  std::string predictions;  // file of a prediction for each example of `scored`

 private:
  void name_records(const Recipe& recipe);
};

// Returns the files of RecipePaths::train_records or heldout_records; empty if none match.
std::vector<std::string> record_files(const std::string& records);

// Returns the path of the vocabulary that the stages have made; empty if there is none, for example
// because the type of model needs no vocabulary.
std::string made_vocabulary(const RecipePaths& paths);

// Returns the tokenizer settings of the recipe.
text::TokenizerFlags tokenizer_flags(const Recipe& recipe);

// Returns the path of the recipe's vocabulary. Throws UsageError if it is not made yet.
std::string vocabulary_path(const Recipe& recipe);
text::Vocabulary vocabulary_of(const Recipe& recipe);

// Returns the files of text.input. Throws UsageError if there are none.
std::vector<std::string> text_inputs(const Recipe& recipe);

}  // namespace smelt::pipeline
