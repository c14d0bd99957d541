// data.glue: a GLUE task (data/preprocess/glue.h) in a recipe of model.type classify.
#pragma once

#include <string>

#include "execution/inference/evaluate.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the files, columns, labels and problem of the task in `set`; empty if data.glue is unset.
// Searches for the files if data.train is not set. Throws UsageError if the task is unknown.
FieldValues glue_preset(const FieldValues& set);

// Returns the name of the default metric for comparing runs on the task; empty if data.glue is
// unset.
std::string glue_metric(const Recipe& recipe);
// Returns a line with GLUE's official metrics for the task; empty if data.glue is unset.
std::string glue_remark(const Recipe& recipe, const execution::Evaluation& evaluation);

}  // namespace smelt::pipeline
