// Formats a plan as text, HTML and JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "pipeline/estimate/plan_recipe.h"

namespace smelt::pipeline {

// Returns a line for each type, in which the cheapest and the fastest are marked, then the parts of
// each estimate, and a recommendation. This machine's clock decides whether prices are out of date.
std::string plan_text(const Plan& plan);
// Returns "16.1 h (10.2 h to 23 h) on a v3-8, $129 ($82 to $184) on demand, …" for a row that fits.
std::string planned_run_text(const PlanRow& row);
// Returns an HTML page: the table, a bar chart of hours and dollars, and the parts of each
// estimate.
std::string plan_page(const Plan& plan);
// Returns the bar charts for the output of plan_json(). Throws UsageError, which begins with
// `where`, if the JSON is not a plan.
std::string plan_charts(std::string_view where, const Json& plan);
// Returns {"rows": […], "cheapest": "v3-8", "fastest": …}: every variant that was tried, with the
// compiler's results in bytes, seconds and US dollars.
Json plan_json(const Plan& plan);

}  // namespace smelt::pipeline
