// The result of a finished run, as JSON.
#pragma once

#include "base/json.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns {"out", "step", "metrics", "verdict", "better_than_baseline", "paths"} from the files of
// the run's folder (docs/reference/json.md, "run").
OrderedJson run_result_json(const Recipe& recipe);

// Returns {"out", "step", "paths"} for a model without an evaluation.
OrderedJson model_result_json(const Recipe& recipe);

}  // namespace smelt::pipeline
