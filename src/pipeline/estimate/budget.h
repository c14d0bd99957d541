// Number of training steps for an amount of money, from a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/estimate/plan_recipe.h"

namespace smelt::pipeline {

// Returns how many steps of the row's run `usd` dollars pay for, by their likely cost at the
// on-demand or spot price, rounded down to three digits. 0 if the budget does not cover the
// startup. nullopt if the step does not fit in the devices' memory or the type has no such price.
std::optional<std::int64_t> steps_within(const PlanRow& row, double usd, bool spot);

// Describes what each type of a plan achieves for `usd` dollars: steps, passes over the text, hours
// and dollars with their range, the date of the price, and which type to choose. `passes(steps)`
// returns the passes, or nullopt if unknown; `usual` is the usual number as in usual_passes(), or
// empty.
std::string budget_text(const Plan& plan, double usd,
                        const std::function<std::optional<double>(std::int64_t steps)>& passes,
                        const std::string& usual);
// Overload that computes the passes from a recipe.
std::string budget_text(const Plan& plan, double usd, const Recipe& recipe);

// Returns `settings` with train.steps added if train.budget.usd determines it: the steps that an
// existing run in the recipe's folder has stored for the same budget, otherwise those of a plan for
// train.budget.type, which is logged. Returns `settings` unchanged if the recipe has no budget, or
// if it sets train.steps; but a train.budget field given by --set takes precedence over train.steps
// of the recipe's file. With `anew` an existing run is ignored, because it will be replaced.
std::vector<std::string> with_steps_of_budget(const std::string& recipe,
                                              std::vector<std::string> settings, bool anew = false);
// Returns train.steps, as written in the recipe file of a run's folder or a job. nullopt if its
// train.budget, its batch size, or a field of the sections model or data that is not a string
// differs from `recipe`.
std::optional<std::string> steps_of_budget_in(const std::string& file, const Recipe& recipe);

}  // namespace smelt::pipeline
