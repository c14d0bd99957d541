// A recipe's stages: text and vocabulary, where its kind of model reads text, examples, training,
// evaluation, export. Each can be run alone.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execution/inference/evaluate.h"
#include "pipeline/recipe.h"
#include "train/bad_batch.h"
#include "train/trainer.h"

namespace smelt {

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
