// Training steps for an amount of money, by a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/plan_recipe.h"

namespace smelt {

// The most steps of a planned row whose likely cost is at most `usd`, at the price on demand or on
// spot. nullopt if the row does not fit or has no such price; 0 if not even the start is paid.
std::optional<std::int64_t> steps_within(const PlanRow& row, double usd, bool spot);
// The row's time and cost with another number of steps.
RunTime time_of(const PlanRow& row, std::int64_t steps);

// What a plan's types do for `usd` dollars: steps, passes over the text, hours and dollars with
// their range, the price's date, and which type to take. `passes(steps)` gives the passes, nullopt
// if they are not known; `usual` is how many are usual, as usual_passes() has it, or empty.
std::string budget_text(const Plan& plan, double usd,
                        const std::function<std::optional<double>(std::int64_t steps)>& passes,
                        const std::string& usual);
// The same for a recipe.
std::string budget_text(const Plan& plan, double usd, const Recipe& recipe);

// Settings over a recipe with train.steps added if train.budget.usd is to set it: the steps that a
// run in the recipe's folder has kept for the same budget, else those of a plan for
// train.budget.type, which is logged. The settings as they are if the recipe has no budget or
// train.steps is set beside it. `anew`: a run in the folder is to be replaced.
std::vector<std::string> with_steps_of_budget(const std::string& recipe,
                                              std::vector<std::string> settings, bool anew = false);
// The train.steps that a recipe's file (of a run's folder or a job) has beside the same
// train.budget, batch size and sizes of model and examples as `recipe`, as it is written there;
// nullopt if one of them differs.
std::optional<std::string> steps_of_budget_in(const std::string& file, const Recipe& recipe);

}  // namespace smelt
