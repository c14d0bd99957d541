// The result of a finished run, as JSON.
#pragma once

#include "base/json.h"
#include "pipeline/recipe.h"

namespace smelt {

// {"out", "step", "metrics", "verdict", "better_than_baseline", "paths"}: docs/reference/json.md,
// "run". Reads the files of the run's folder.
OrderedJson run_result_json(const Recipe& recipe);

// {"out", "step", "paths"} of a model without an evaluation.
OrderedJson model_result_json(const Recipe& recipe);

}  // namespace smelt
