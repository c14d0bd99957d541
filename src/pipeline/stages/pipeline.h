// Stages of a recipe: text and vocabulary (if the kind of model reads text), examples, training,
// evaluation and export. Each stage can also run alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execution/inference/evaluate.h"
#include "pipeline/config/recipe.h"
#include "train/bad_batch.h"
#include "train/trainer.h"

namespace smelt::pipeline {

// Returns whether some of the text is missing, but the text stage's output is complete.
bool can_continue_without_text(const Recipe& recipe);
// Returns whether all text files exist and are unchanged, so that the text stage would produce the
// same output again.
bool can_make_text_again(const Recipe& recipe);
// Makes the examples of data.test if they are missing or out of date. data.test may be set after
// training. Does nothing if the recipe has no test set.
void make_test_examples(const Recipe& recipe);
// Whether training resumes from a checkpoint or starts a new model (train/trainer.h).
struct Beginning {
  train::ResumeMode begin = train::ResumeMode::either;
  bool overwrite = false;
};
train::TrainSummary train_model(const Recipe& recipe, const Beginning& beginning = {});
// Returns the step from which train_model() would resume; nullopt for a new model. Throws the
// UsageError that train_model() would throw.
std::optional<std::int64_t> check_resume_step(const Recipe& recipe);
// Recomputes the gradients of a batch whose loss or gradients were not finite, without an update.
// `folder` contains the saved batch; if it is empty, uses the newest saved batch.
train::GradientReport replay_model(const Recipe& recipe, const std::string& folder);
// Writes a Hugging Face folder. Replaces an earlier one if `folder` is the recipe's own.
void export_model(const Recipe& recipe, const std::string& folder);

// Throws UsageError if the recipe's folder contains other files than a run's, or a model that was
// trained on other data.
void check_stages(const Recipe& recipe, const Beginning& beginning = {});
// Throws UsageError if the recipe's text, vocabulary or data differ from those of the model in its
// folder. Does nothing in a run of several processes.
void check_data_unchanged(const Recipe& recipe, const Beginning& beginning = {});

// Runs all stages in order, except those that are up to date. Calls `evaluated` if the evaluation
// stage ran.
void run_recipe(const Recipe& recipe, const Beginning& beginning = {},
                const std::function<void(const execution::Evaluation&)>& evaluated = {});

}  // namespace smelt::pipeline
