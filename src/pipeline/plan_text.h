// A plan in words and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "pipeline/plan_recipe.h"

namespace smelt {

// A line for each type, the cheapest and the fastest marked, what each row is made of, and what to
// rent. Prices are old by this machine's clock.
std::string plan_text(const Plan& plan);
// "16.1 h (10.2 h to 23 h) on a v3-8, $129 ($82 to $184) on demand, …" of a row that fits.
std::string planned_run_text(const PlanRow& row);
// A page for a browser: the table, hours and dollars as bars, what each row is made of.
std::string plan_page(const Plan& plan);
// Its bars, of what plan_json() says. UsageError beginning with `where` for JSON that is no plan.
std::string plan_charts(std::string_view where, const Json& plan);
// {"rows": […], "cheapest": "v3-8", "fastest": …}: every form that was tried, with the compiler's
// figures, in bytes, seconds and US dollars.
Json plan_json(const Plan& plan);

}  // namespace smelt
