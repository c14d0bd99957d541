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
bool goes_on_without_text(const Recipe& recipe);
// Returns whether all of the text is there and unchanged, so that the text stage would make the
// same output again.
bool can_make_text_again(const Recipe& recipe);
// Makes the examples of data.test if they are missing or out of date. data.test may be set after
// training. Does nothing if the recipe has no test set.
void make_test_examples(const Recipe& recipe);
// How training starts (train/trainer.h).
struct Beginning {
  train::ResumeMode begin = train::ResumeMode::either;
  bool overwrite = false;
};
train::TrainSummary train_model(const Recipe& recipe, const Beginning& beginning = {});
// Returns the step that train_model() would resume from. Throws UsageError if it would not start.
std::optional<std::int64_t> check_goes_on(const Recipe& recipe);
// Computes the gradients of a batch whose step was not finite, without an update. `folder` contains
// the saved batch; empty: the newest one.
train::GradientReport replay_model(const Recipe& recipe, const std::string& folder);
// Writes a Hugging Face folder. Replaces an earlier one if `folder` is the recipe's own.
void export_model(const Recipe& recipe, const std::string& folder);

// Throws UsageError if the recipe's folder contains something else, or a model of other data.
void check_stages(const Recipe& recipe, const Beginning& beginning = {});

// Runs all stages in order, except those that are up to date. Calls `evaluated` if the evaluation
// stage ran.
void run_recipe(const Recipe& recipe, const Beginning& beginning = {},
                const std::function<void(const execution::Evaluation&)>& evaluated = {});

}  // namespace smelt::pipeline
