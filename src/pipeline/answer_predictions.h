// What a model of answers says of a run's held-out questions.
#pragma once

#include <vector>

#include "model/train_step/report.h"
#include "pipeline/recipe.h"

namespace smelt {

// The questions of eval.split (data/preprocess/question_examples.h), each a line as
// execution/inference/answer_spans.h has it, into RecipePaths's `predictions`; what they come to:
// exact_match and f1 as SQuAD's own program computes them (evaluation/metrics/answers.h). Nothing,
// and a warning, where the records' questions are not there.
std::vector<MeasuredValue> write_answer_predictions(const Recipe& recipe);

}  // namespace smelt
