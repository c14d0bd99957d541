#include "pipeline/config/run_length.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>
#include <utility>

#include "base/error.h"
#include "base/number_format.h"
#include "io/filesystem/path.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/text_size.h"
#include "train/training_clock.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kLength = "train.length";
constexpr const char* kWarmupSteps = "train.schedule.warmup_steps";
constexpr const char* kForms =
    "write it as 30000 steps, 3 epochs, 3B tokens, 24 hours or 20 dollars";

// A word for a unit, and the number of units that it is worth.
struct UnitWord {
  std::string_view word;
  LengthUnit unit;
  double worth = 1;
};
constexpr std::array<UnitWord, 22> kUnits{{{"steps", LengthUnit::steps},
                                           {"step", LengthUnit::steps},
                                           {"epochs", LengthUnit::epochs},
                                           {"epoch", LengthUnit::epochs},
                                           {"tokens", LengthUnit::tokens},
                                           {"token", LengthUnit::tokens},
                                           {"hours", LengthUnit::seconds, 3600},
                                           {"hour", LengthUnit::seconds, 3600},
                                           {"h", LengthUnit::seconds, 3600},
                                           {"days", LengthUnit::seconds, 24 * 3600},
                                           {"day", LengthUnit::seconds, 24 * 3600},
                                           {"d", LengthUnit::seconds, 24 * 3600},
                                           {"minutes", LengthUnit::seconds, 60},
                                           {"minute", LengthUnit::seconds, 60},
                                           {"min", LengthUnit::seconds, 60},
                                           {"seconds", LengthUnit::seconds},
                                           {"second", LengthUnit::seconds},
                                           {"s", LengthUnit::seconds},
                                           {"dollars", LengthUnit::dollars},
                                           {"dollar", LengthUnit::dollars},
                                           {"usd", LengthUnit::dollars},
                                           {"%", LengthUnit::percent}}};

// Returns the factor of a suffix of a number: 1e9 for "B".
double factor_of(const std::string& suffix) {
  return suffix == "k" || suffix == "K" ? 1e3 : suffix == "M" ? 1e6 : suffix == "B" ? 1e9 : 1;
}

// Returns the unit with this name in upper or lower case, or null.
const UnitWord* find_unit(const std::string& name) {
  const auto found = std::ranges::find(kUnits, lower_case(name), &UnitWord::word);
  return found == kUnits.end() ? nullptr : &*found;
}

bool is_count(LengthUnit unit) { return unit == LengthUnit::steps || unit == LengthUnit::tokens; }

// Returns the length in units of the schedule, or nullopt if that is not known yet.
std::optional<double> schedule_units(const Recipe& r, const RunLength& length,
                                     std::optional<double> epoch) {
  const train::TrainConfig& t = r.train;
  const auto total = static_cast<double>(train::schedule_length(t));
  switch (length.unit) {
    case LengthUnit::steps:
      return length.value;
    case LengthUnit::epochs:
      return epoch ? std::optional(length.value * *epoch) : std::nullopt;
    case LengthUnit::tokens: {
      const auto step = static_cast<double>(tokens_of_example(r) * t.batch_size);
      return step > 0 ? std::optional(length.value / step) : std::nullopt;
    }
    case LengthUnit::seconds:
      return length.value / t.seconds * total;
    case LengthUnit::dollars:
      return length.value / t.budget.usd * total;
    case LengthUnit::percent:
      return length.value / 100 * total;
  }
  return std::nullopt;
}

// Checks that a part of the schedule has a unit that can be converted.
void check_unit(const Recipe& r, const std::string& field, const std::string& text) {
  const RecipeChecks checks(r);
  RunLength length;
  checks.accepts({field}, [&] { length = parse_run_length(field, text); });
  const bool by_time = r.train.seconds > 0, is_time = length.unit == LengthUnit::seconds,
             is_share = length.unit == LengthUnit::percent;
  checks.require(!by_time || is_time || is_share, {field, kLength},
                 str(field, " is ", text, ", but ", kLength, " is ", r.train.length),
                 str("give both in hours, or ", field, " as a share: 2 %"));
  checks.require(
      by_time || !is_time, {field, kLength},
      str(field, " is ", text, ", but the length of the run is not a time"),
      str("set ", kLength, ", for example to 24 hours, or give ", field, " as a share: 2 %"));
  checks.require(
      length.unit != LengthUnit::dollars || r.train.budget.usd > 0, {field, kLength},
      str(field, " is ", text, ", but the length of the run is not in dollars"),
      str("set ", kLength, ", for example to 20 dollars, or give ", field, " as a share: 2 %"));
}

// Checks the fields of warm-up or decay: only one of them may be set.
void check_part(const Recipe& r, const std::string& part, const std::string& text, double ratio) {
  if (text.empty()) return;
  const RecipeChecks checks(r);
  const std::string field = str("train.schedule.", part);
  checks.require(ratio == 0, {field, field + "_ratio"},
                 str(field, " and ", field, "_ratio are both set"), "set only one of them");
  checks.require(!r.is_set(field + "_steps") || r.origin({field + "_steps"}) != "--set",
                 {field + "_steps", field},
                 str(field, "_steps is ignored, because ", field, " is ", text, " and replaces it"),
                 str("also give --set ", field, "=, or change ", field, " instead"));
  check_unit(r, field, text);
}

// Returns whether smelt has written the file of `field`: the recipe of a run's folder or of a cloud
// job. It has values for fields that the user has not set, and the steps of a budget.
bool is_stored(const Recipe& r, const std::string& field) {
  const std::string file = r.origin({field});
  if (file == "--set") return false;
  return run_named_by(file) ||
         (io::is_remote(file) && io::parent_path(r.out) == io::parent_path(file));
}

// Returns whether the user has set a part of the schedule in steps.
bool is_in_steps(const Recipe& r, const std::string& field, std::int64_t steps,
                 std::int64_t default_steps) {
  return r.is_set(field) && (steps != default_steps || !is_stored(r, field));
}

// Checks the settings of a run whose length is a time: its number of steps is not known.
void check_timed(const Recipe& r) {
  const RecipeChecks checks(r);
  const train::TrainConfig& t = r.train;
  const auto refuse = [&](const std::string& field, bool given) {
    checks.require(!given, {field, kLength},
                   str(field, " needs a number of steps, but ", kLength, " is ", t.length),
                   str("remove ", field, ", or give ", kLength, " in steps, tokens or epochs"));
  };
  const model::ScheduleConfig& s = t.schedule;
  const auto refuse_steps = [&](const std::string& part, bool given) {
    const std::string field = str("train.schedule.", part, "_steps");
    checks.require(!given, {field, kLength}, str(field, " is set, but ", kLength, " is ", t.length),
                   str("set train.schedule.", part, " to a time or a share instead, such as 2 %"));
  };
  refuse_steps("warmup", s.warmup.empty() && s.warmup_ratio == 0 && s.warmup_steps > 0 &&
                             is_in_steps(r, kWarmupSteps, s.warmup_steps,
                                         model::ScheduleConfig().warmup_steps));
  refuse_steps("decay", s.decay.empty() && s.decay_ratio == 0 && s.decay_steps > 0);
  refuse("train.schedule.decay_to_step", t.schedule.decay_to_step > 0);
  refuse("model.last_mask_prob", r.model.value("last_mask_prob", 0.0) > 0);
  refuse("train.pruning.sparsity", t.pruning.sparsity > 0);
  refuse("train.pruning.nm", !t.pruning.nm.empty());
  refuse("train.pruning.method", t.pruning.method == model::PruneBy::soft);
}

// Checks that train.length is the only field that determines the length.
void check_only_length(const Recipe& r, const RunLength& length) {
  const RecipeChecks checks(r);
  const std::string also = "set only one of them";
  for (const auto& [field, value] :
       {std::pair{"train.epochs", r.train.epochs}, {"train.budget.usd", r.train.budget.usd}})
    checks.require(value == 0, {field, kLength},
                   str(kLength, " and ", field, " are both set, but each determines train.steps"),
                   also);
  // The steps of a budget are stored in the recipe.
  checks.require(
      length.unit == LengthUnit::dollars || !r.is_set("train.steps") ||
          r.origin({"train.steps"}) != "--set",
      {"train.steps", kLength},
      str("train.steps is ignored, because ", kLength, " is ", r.train.length, " and replaces it"),
      str("also give --set ", kLength, "=, or change ", kLength, " instead"));
}

// Checks that a recipe file of the user does not set both a budget and steps. A stored recipe
// may: its steps are those that a plan has computed from the budget.
void check_no_steps_beside_budget(const Recipe& r) {
  const std::string field = r.train.length.empty() ? "train.budget.usd" : kLength;
  if (r.train.budget.usd == 0 || !r.is_set("train.steps")) return;
  RecipeChecks(r).require(
      r.origin({"train.steps"}) == "--set" || r.origin({"train.steps"}) != r.origin({field}) ||
          is_stored(r, field),
      {"train.steps", field},
      str("train.steps and ", field, " are both set, but the budget determines the steps"),
      "remove one of them");
}

// Checks that the schedule fits a run of `total` units.
void check_schedule_fits(const Recipe& r, std::int64_t total) {
  const RecipeChecks checks(r);
  const model::ScheduleConfig& s = r.train.schedule;
  // The field and value that determine a part: {"train.schedule.decay", "3 hours"}.
  const auto given = [](const std::string& part, const std::string& text, double ratio,
                        std::int64_t steps) {
    const std::string field = "train.schedule." + part;
    return !text.empty() ? std::pair(field, text)
           : ratio > 0   ? std::pair(field + "_ratio", significant(ratio, 4))
                         : std::pair(field + "_steps", str(steps, " steps"));
  };
  const auto [warmup, warmup_text] = given("warmup", s.warmup, s.warmup_ratio, s.warmup_steps);
  const auto [decay, decay_text] = given("decay", s.decay, s.decay_ratio, s.decay_steps);
  checks.require(s.type != "wsd" || s.warmup_steps + s.decay_steps <= total, {decay, warmup},
                 str(decay, " ", decay_text, " and the warm-up before it (", warmup_text,
                     ") are longer than the run"),
                 "shorten one of them, or train longer");
  checks.require(
      r.train.seconds == 0 || s.warmup_steps < total, {warmup, kLength},
      str(warmup, " ", warmup_text, " is not shorter than ", kLength, " ", r.train.length),
      "shorten it, for example to 2 %, or train longer");
}

void take_length(Recipe& r, const RunLength& length) {
  train::TrainConfig& t = r.train;
  switch (length.unit) {
    case LengthUnit::steps:
      t.steps = std::llround(length.value);
      break;
    case LengthUnit::epochs:
      t.epochs = length.value;
      break;
    case LengthUnit::tokens:
      t.tokens = length.value;
      break;
    case LengthUnit::seconds:
      t.seconds = length.value;
      break;
    case LengthUnit::dollars:
      t.budget.usd = length.value;
      break;
    case LengthUnit::percent:
      break;
  }
}

}  // namespace

RunLength parse_run_length(const std::string& field, const std::string& text) {
  static const std::regex form(
      R"(\s*(\$?)\s*([0-9]+\.?[0-9]*(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)\s*([A-Za-z]*|%)\s*)");
  const auto refuse = [&](const std::string& why, const std::string& hint = kForms) {
    throw UsageError(str(field, ": '", text, "' ", why), hint);
  };
  std::smatch found;
  if (!std::regex_match(text, found, form)) refuse("is not a length with a unit");
  // "3 M tokens" or "3M tokens" has a suffix of the number, "5 Minutes" has none.
  std::string suffix = found[3], word = found[4];
  if (word.empty()) word = std::exchange(suffix, "");
  if (suffix.empty() && find_unit(word) == nullptr && factor_of(word.substr(0, 1)) > 1 &&
      (word.size() == 1 || find_unit(word.substr(1)) != nullptr)) {
    suffix = word.substr(0, 1);
    word.erase(0, 1);
  }
  if (found[1].length() > 0 && word.empty()) word = "usd";
  if (word.empty()) refuse("has no unit");
  const UnitWord* unit = find_unit(word);
  if (unit == nullptr || (found[1].length() > 0 && unit->unit != LengthUnit::dollars))
    refuse(str("has an unknown unit, '", found[1].str(), word, "'"));
  if (suffix.size() > 1 || (!suffix.empty() && factor_of(suffix) == 1))
    refuse("is not a length with a unit");
  if (!suffix.empty() && !is_count(unit->unit)) refuse("has k, M or B before its unit");
  const RunLength out{std::stod(found[2]) * factor_of(suffix) * unit->worth, unit->unit};
  constexpr double kMost = 1e15;
  if (out.value > kMost) refuse("is too long", "use a smaller number");
  if (out.unit == LengthUnit::percent && out.value > 100)
    refuse("is more than the run", "use at most 100 %");
  return out;
}

std::string run_length_words(const RunLength& length) {
  const std::string number = significant(length.value, 6);
  switch (length.unit) {
    case LengthUnit::steps:
      return str(std::llround(length.value), " steps");
    case LengthUnit::epochs:
      return number + " epochs";
    case LengthUnit::tokens:
      return number + " tokens";
    case LengthUnit::seconds:
      return train::hours_text(length.value);
    case LengthUnit::dollars:
      return number + " dollars";
    case LengthUnit::percent:
      return number + " %";
  }
  return number;
}

void prefer_settings(Recipe& r) {
  static const std::vector<std::vector<std::string>> kOneOf{
      {"length", "epochs", "budget.usd"},
      {"schedule.warmup", "schedule.warmup_ratio"},
      {"schedule.decay", "schedule.decay_ratio"}};
  Json& train = r.sections["train"];
  const Json& unset = r.defaults["train"];
  const auto is_users = [&](const std::string& name) {
    return r.origin({"train." + name}) == "--set" && train.at(name) != unset.at(name);
  };
  for (const auto& names : kOneOf) {
    if (std::ranges::none_of(names, is_users)) continue;
    for (const std::string& name : names) {
      if (is_users(name)) continue;
      train[name] = unset.at(name);
      r.set.erase("train." + name);
    }
  }
}

void set_run_length(Recipe& r) {
  train::TrainConfig& t = r.train;
  const RecipeChecks checks(r);
  if (!t.length.empty()) {
    RunLength length;
    checks.accepts({kLength}, [&] {
      length = parse_run_length(kLength, t.length);
      if (length.unit == LengthUnit::percent || length.value == 0 ||
          (length.unit == LengthUnit::steps && std::llround(length.value) < 1))
        throw UsageError(str(kLength, ": '", t.length, "' is not a length of a run"), kForms);
    });
    check_only_length(r, length);
    take_length(r, length);
  }
  check_no_steps_beside_budget(r);
  if (t.seconds > 0) {
    check_timed(r);
    const model::ScheduleConfig unset;
    if (t.schedule.warmup.empty() && t.schedule.warmup_ratio == 0 &&
        !is_in_steps(r, kWarmupSteps, t.schedule.warmup_steps, unset.warmup_steps)) {
      t.schedule.warmup = "1 %";
      r.sections["train"]["schedule.warmup"] = t.schedule.warmup;
    }
  }
  check_part(r, "warmup", t.schedule.warmup, t.schedule.warmup_ratio);
  check_part(r, "decay", t.schedule.decay, t.schedule.decay_ratio);
}

std::string doubled_length(const Recipe& r, std::int64_t steps) {
  if (r.train.length.empty())
    return r.train.epochs > 0 ? str("train.epochs=", 2 * r.train.epochs)
                              : str("train.steps=", 2 * steps);
  RunLength length = parse_run_length(kLength, r.train.length);
  length.value *= 2;
  return str("train.length='", run_length_words(length), "'");
}

std::vector<std::string> parts_in_shares(const Recipe& r) {
  std::vector<std::string> out;
  const auto total = static_cast<double>(train::schedule_length(r.train));
  const auto add = [&](const std::string& field, const std::string& text) {
    if (text.empty()) return;
    const RunLength length = parse_run_length(field, text);
    const auto units = schedule_units(r, length, std::nullopt);
    if (units && (length.unit == LengthUnit::seconds || length.unit == LengthUnit::dollars))
      out.push_back(str(field, "=", significant(100 * *units / total, 6), " %"));
  };
  add("train.schedule.warmup", r.train.schedule.warmup);
  add("train.schedule.decay", r.train.schedule.decay);
  return out;
}

void convert_schedule(Recipe& r, std::optional<double> epoch) {
  train::TrainConfig& t = r.train;
  const std::int64_t total = train::schedule_length(t);
  const auto units = [&](const char* field, const std::string& text,
                         std::int64_t otherwise) -> std::int64_t {
    if (text.empty()) return otherwise;
    const auto exact = schedule_units(r, parse_run_length(field, text), epoch);
    return exact ? std::llround(*exact) : otherwise;
  };
  const auto share_of_total = [&](double ratio) {
    return std::llround(ratio * static_cast<double>(total));
  };
  std::int64_t& warmup = t.schedule.warmup_steps;
  std::int64_t& decay = t.schedule.decay_steps;
  if (t.schedule.warmup_ratio > 0) warmup = share_of_total(t.schedule.warmup_ratio);
  warmup = units("train.schedule.warmup", t.schedule.warmup, warmup);
  if (t.schedule.decay_ratio > 0)
    decay = std::clamp<std::int64_t>(share_of_total(t.schedule.decay_ratio), 1,
                                     std::max<std::int64_t>(1, total - warmup));
  if (!t.schedule.decay.empty()) {
    decay = std::max<std::int64_t>(1, units("train.schedule.decay", t.schedule.decay, decay));
    // Both are rounded, so that together they may exceed the length by one.
    if (warmup + decay == total + 1 && decay > 1) --decay;
  }
  // Until the examples are made or a plan is found, the number of steps is unknown.
  if ((t.epochs == 0 || epoch) && (t.budget.usd == 0 || r.is_set("train.steps")))
    check_schedule_fits(r, total);
}

}  // namespace smelt::pipeline
