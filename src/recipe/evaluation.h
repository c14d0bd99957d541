// A recipe's model on its held-out examples: once, or each checkpoint as it appears.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "ask/evaluate.h"
#include "recipe/recipe.h"

namespace smelt {

// {"global_step": …, "examples": …, "loss": …, every measure, "weights": {…}}
nlohmann::ordered_json evaluation_json(const Evaluation& evaluation);
// The lines of eval_results.txt, "name = value": global_step, loss, then every measure by name.
std::string evaluation_text(const Evaluation& evaluation);
// These lines under a title, and what the type of model has to remark.
std::string evaluation_report(const Recipe& recipe, const Evaluation& evaluation);

// Writes eval_results.txt in the original's form, eval_results.json, and a line of
// evaluations.jsonl (docs/formats/metrics.md) into the model's folder.
Evaluation evaluate_model(const Recipe& recipe);

// The same of each checkpoint that evaluations.jsonl does not tell of, the oldest first, as they
// appear; until that of the recipe's last step is told of, or a signal. `told` gets each.
void follow_model(const Recipe& recipe, const std::function<void(const Evaluation&)>& told);

}  // namespace smelt
