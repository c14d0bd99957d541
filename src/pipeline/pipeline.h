// A recipe's stages: text and vocabulary, where its kind of model reads text, examples, training,
// evaluation, export. Each can be run alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execution/inference/evaluate.h"
#include "pipeline/recipe.h"
#include "text/tokenizers/tokenizer_config.h"
#include "text/tokenizers/vocabulary.h"
#include "train/bad_batch.h"
#include "train/trainer.h"

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

// All of a training but its files and what is said and saved.
TrainJob train_job(const TrainConfig& train, Task task);

// Builds the training program and drops it: whatever it would refuse is said before hours of other
// stages. The task's vocabulary may still have another size then. What the program comes to is in
// recipe.program afterwards.
void check_program(const Recipe& recipe, const Task& task);

// The files of text.input; UsageError when there are none.
std::vector<std::string> text_inputs(const Recipe& recipe);
// Whether the text, or some of it, is gone, but what was made of it is whole.
bool goes_on_without_text(const Recipe& recipe);
// Whether its text stage would make what it made, from text that is all there and unchanged.
bool can_make_text_again(const Recipe& recipe);
// The examples of data.test, where they are not there yet or were of other rows; it may be named
// when the model is trained. Nothing where the recipe has no test.
void make_test_examples(const Recipe& recipe);
// How training begins; train/trainer.h.
struct Beginning {
  ResumeMode begin = ResumeMode::either;
  bool overwrite = false;
};
TrainSummary train_model(const Recipe& recipe, const Beginning& beginning = {});
// The step that train_model() would go on from; UsageError where it would refuse to.
std::optional<std::int64_t> check_goes_on(const Recipe& recipe);
// The batch of a step that was not finite, without an update; of the newest, where no folder is
// named.
GradientReport replay_model(const Recipe& recipe, const std::string& folder);
// Writes a Hugging Face folder; an earlier one at the recipe's own place is replaced.
void export_model(const Recipe& recipe, const std::string& folder);

// UsageError where the recipe's folder holds something else, or a model of other data.
void check_stages(const Recipe& recipe, const Beginning& beginning = {});

// All of it in order; a finished stage is not run again. `evaluated` gets what the evaluation gave,
// if that stage ran.
void run_recipe(const Recipe& recipe, const Beginning& beginning = {},
                const std::function<void(const Evaluation&)>& evaluated = {});

}  // namespace smelt
