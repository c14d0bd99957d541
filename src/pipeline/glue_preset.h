// data.glue: a task of GLUE (data/preprocess/glue.h) in a recipe of model.type classify.
#pragma once

#include <string>

#include "execution/inference/evaluate.h"
#include "pipeline/recipe.h"

namespace smelt {

// Files, columns, labels and the kind of problem of the task that is set; nothing without one. Its
// files are looked for where data.train is not set. UsageError for an unknown task.
FieldValues glue_preset(const FieldValues& set);

// What its runs are compared by; empty without a task.
std::string glue_metric(const Recipe& recipe);
// A line of the figures that GLUE tells the task by; empty without a task.
std::string glue_remark(const Recipe& recipe, const Evaluation& evaluation);

}  // namespace smelt
