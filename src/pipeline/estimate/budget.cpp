#include "pipeline/estimate/budget.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "io/filesystem/file.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/plan_text.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::pipeline {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

std::optional<cost_model::Estimate> cost_of(const PlanRow& row, std::int64_t steps, bool spot) {
  const cost_model::RunCost cost = cost_model::run_cost(row.type, time_of(row, steps), row.price);
  return spot ? cost.spot : cost.on_demand;
}

struct Offer {
  const PlanRow* row = nullptr;
  bool spot = false;
  std::int64_t steps = 0;
};

std::vector<Offer> offers_of(const Plan& plan, double usd) {
  std::vector<Offer> out;
  for (const PlanRow& row : plan.rows)
    for (const bool spot : {false, true})
      if (const auto steps = steps_within(row, usd, spot); steps && *steps > 0)
        out.push_back({&row, spot, *steps});
  return out;
}

std::string range_words(double low, double high, int digits) {
  return str(" (", rounded(low, digits), " to ", rounded(high, digits), ")");
}

std::vector<std::string> offer_cells(
    const Offer& o, const std::function<std::optional<double>(std::int64_t)>& passes) {
  const cost_model::RunTime time = time_of(*o.row, o.steps);
  const cost_model::Estimate seconds = o.spot ? time.spot_seconds : time.seconds;
  const cost_model::Estimate cost = *cost_of(*o.row, o.steps, o.spot);
  const auto over = passes(o.steps);
  return {
      o.row->type.name,
      o.spot ? "spot" : "on demand",
      str(o.steps),
      over ? rounded(*over, *over < 10 ? 1 : 0) : "?",
      rounded(seconds.likely / 3600, 1) + range_words(seconds.low / 3600, seconds.high / 3600, 1),
      "$" + rounded(cost.likely, 0) + range_words(cost.low, cost.high, 0),
      o.row->price->date};
}

constexpr const char* kReplaces = "(the budget replaces train.steps of the recipe)\n";
constexpr double kEnoughPasses = 40;  // the number of BERT's original training

// Recommends the type that makes enough passes for the least money, or else the one with the most
// steps.
std::string recommendation(const std::vector<Offer>& offers, double usd,
                           const std::function<std::optional<double>(std::int64_t)>& passes) {
  const Offer* best = &offers.front();
  std::optional<double> least;  // cost of kEnoughPasses passes
  for (const Offer& offer : offers) {
    const auto over = passes(offer.steps);
    if (over && *over >= kEnoughPasses) {
      const auto steps = static_cast<double>(offer.steps) * kEnoughPasses / *over;
      const double cost =
          cost_of(*offer.row, static_cast<std::int64_t>(std::ceil(steps)), offer.spot)->likely;
      if (!least || cost < *least) best = &offer, least = cost;
    } else if (!least && offer.steps > best->steps) {
      best = &offer;
    }
  }
  const std::string taken =
      str("use ", best->row->type.name, best->spot ? " on spot" : " on demand", ": ");
  const std::string setting = str(" --set train.budget.type=", best->row->type.name,
                                  best->spot ? " --set train.budget.spot=true" : "", "\n");
  if (!least)
    return str(taken, "it makes the most steps; --set train.length='", significant(usd, 6),
               " dollars'", setting, kReplaces);
  return str(taken, rounded(kEnoughPasses, 0), " passes cost about $", rounded(*least, 2),
             " there; --set train.length='", rounded(*least + 0.005, 2), " dollars'", setting,
             kReplaces);
}

// Returns the steps that an existing run in the recipe's folder has stored for the same budget.
std::optional<std::string> kept_steps(const Recipe& r) {
  if (r.anew || !run_named_by(r.out)) return std::nullopt;
  return steps_of_budget_in(kept_recipe_path(r.out), r);
}

// Returns whether a field has the same value in the stored recipe `kept` and in `r`. A field that
// is not stored has its default value.
bool is_kept(const FieldValues& kept, const Recipe& r, const std::string& section,
             const std::string& field) {
  const Json& is = r.sections.at(section).at(field);
  const std::string text = is.is_string() ? is.get<std::string>() : is.dump();
  const std::string path = str(section, ".", field);
  const auto found = kept.find(path);
  return found != kept.end() ? found->second == text : !r.is_set(path);
}

bool sets_steps(const Recipe& r) {
  if (r.train.budget.usd == 0) return false;
  const auto is_from_flag = [&](const char* field) { return r.origin({field}) == "--set"; };
  if (!r.is_set("train.steps")) return true;
  return !is_from_flag("train.steps") &&
         (is_from_flag("train.budget.usd") || is_from_flag("train.length") ||
          is_from_flag("train.budget.type") || is_from_flag("train.budget.spot"));
}

}  // namespace

std::optional<std::int64_t> steps_within(const PlanRow& row, double usd, bool spot) {
  if (!row.fits() || !cost_of(row, 1, spot)) return std::nullopt;
  std::int64_t low = 0, high = kMostSteps;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (cost_of(row, middle, spot)->likely <= usd ? low : high) = middle;
  }
  // Rounds to three digits, because a plan is not more accurate.
  std::int64_t unit = 1;
  while (low / unit >= 1000) unit *= 10;
  return low / unit * unit;
}

std::string budget_text(const Plan& plan, double usd,
                        const std::function<std::optional<double>(std::int64_t)>& passes,
                        const std::string& usual) {
  const auto offers = offers_of(plan, usd);
  const std::string money = str("$", significant(usd, 6));
  if (offers.empty())
    return str(
        "For ", money,
        " no type can run a single step: the price is unknown, or the budget is too small.\n");
  std::vector<std::vector<std::string>> lines{
      {"type", "price", "steps", "passes", "hours (range)", "dollars (range)", "price of"}};
  for (const Offer& offer : offers) lines.push_back(offer_cells(offer, passes));
  return str("For ", money, " (likely cost):\n", table_text(lines),
             usual.empty() ? "" : str(usual, " passes over a text of this size are usual.\n"),
             recommendation(offers, usd, passes));
}

std::string budget_text(const Plan& plan, double usd, const Recipe& r) {
  const auto now = training_passes(r);
  const auto text = training_text(r);
  return budget_text(
      plan, usd,
      [&](std::int64_t steps) -> std::optional<double> {
        if (!now) return std::nullopt;
        return *now * static_cast<double>(steps) / static_cast<double>(r.train.steps);
      },
      text ? usual_passes(text->bytes) : "");
}

std::optional<std::string> steps_of_budget_in(const std::string& file, const Recipe& r) {
  const FieldValues kept = recipe_file_fields(file);
  if (!kept.contains("train.steps") ||
      (!kept.contains("train.budget.usd") && !kept.contains("train.length")))
    return std::nullopt;
  for (const char* field : {"length", "budget.usd", "budget.type", "budget.spot", "batch_size"})
    if (!is_kept(kept, r, "train", field)) return std::nullopt;
  // The cost of a step depends on the model and the examples. Strings, such as paths, may differ.
  for (const char* section : {"model", "data"})
    for (const auto& [field, value] : r.sections.at(section).items())
      if (!value.is_string() && !is_kept(kept, r, section, field)) return std::nullopt;
  return kept.at("train.steps");
}

std::vector<std::string> with_steps_of_budget(const std::string& path,
                                              std::vector<std::string> settings, bool anew) {
  const Recipe r = load_recipe(path, settings, anew);
  if (!sets_steps(r)) return settings;
  if (const auto kept = kept_steps(r)) {
    settings.push_back("train.steps=" + *kept);
    return settings;
  }
  const auto types = cost_model::find_accelerators("train.budget.type", r.train.budget.type);
  log_info("plan: computing the number of steps for ${} on a {}", rounded(r.train.budget.usd, 2),
           types.front().name);
  const cost_model::Prices prices;  // the plan's rows have pointers to it
  const Plan plan =
      plan_run({.run_on =
                    [&](const cost_model::Accelerator& on) {
                      return planned_run(recipe_on(on, path, settings));
                    },
                .types = types},
               cost_model::TpuCompiles(cost_model::TpuCompiles::user_cache_folder()), prices);
  const PlanRow& row = plan.rows.front();
  const auto steps = steps_within(row, r.train.budget.usd, r.train.budget.spot);
  if (!steps || *steps < 1)
    throw UsageError(str(r.origin({"train.budget.usd"}), ": train.budget.usd ", r.train.budget.usd,
                         !row.fits() ? str(": the run does not fit a ", row.type.name)
                         : !steps    ? str(": no price of a ", row.type.name,
                                        r.train.budget.spot ? " on spot" : "", " is known")
                                     : str(": not enough for a single step on a ", row.type.name)),
                     str("`smelt plan ", path, " --budget ", significant(r.train.budget.usd, 6),
                         "` shows other types; or set train.steps"));
  settings.push_back(str("train.steps=", *steps));
  log_info("plan: {}", budget_text(plan, r.train.budget.usd, load_recipe(path, settings)));
  return settings;
}

}  // namespace smelt::pipeline
