#include "pipeline/schedule_choice.h"

#include <algorithm>

#include "base/error.h"

namespace smelt {
namespace {

struct NamedSchedule {
  Decay decay;
  Warmup warmup;
};

const std::map<std::string, NamedSchedule>& schedules() {
  static const std::map<std::string, NamedSchedule> kSchedules{
      {"bert", {Decay::polynomial, Warmup::replaces}},
      {"electra", {Decay::polynomial, Warmup::multiplies}},
      {"jestimator", {Decay::after_warmup, Warmup::multiplies}},
      {"linear", {Decay::polynomial, Warmup::precedes}},
      {"polynomial", {Decay::polynomial, Warmup::precedes}},
      {"constant", {Decay::constant, Warmup::multiplies}},
      {"cosine", {Decay::cosine, Warmup::precedes}},
      {"inverse_sqrt", {Decay::inverse_sqrt, Warmup::none}},
      {"wsd", {Decay::last_steps, Warmup::multiplies}}};
  return kSchedules;
}

const std::map<std::string, Warmup>& warmup_forms() {
  static const std::map<std::string, Warmup> kForms{{"replaces", Warmup::replaces},
                                                    {"multiplies", Warmup::multiplies},
                                                    {"precedes", Warmup::precedes},
                                                    {"none", Warmup::none}};
  return kForms;
}

template <class Value>
std::vector<std::string> names_of(const std::map<std::string, Value>& map) {
  std::vector<std::string> out;
  for (const auto& [name, value] : map) out.push_back(name);
  return out;
}

// A field that only some schedules read.
void check_read_by(const RecipeChecks& checks, const TrainSection& t, const std::string& field,
                   bool given, const std::vector<std::string>& readers) {
  const bool read = std::ranges::find(readers, t.schedule) != readers.end();
  checks.require(read || !given, {field, "train.schedule"},
                 str(field, " is given, but train.schedule ", t.schedule, " does not read it"),
                 str("leave it out; it is read by ", join(readers, ", ")));
}

void check_readers(const RecipeChecks& checks, const TrainSection& t) {
  const TrainSection unset;
  const auto read_by = [&](const std::string& field, bool given,
                           const std::vector<std::string>& readers) {
    check_read_by(checks, t, field, given, readers);
  };
  read_by("train.decay_power", t.decay_power != unset.decay_power, {"polynomial"});
  read_by("train.end_factor", t.end_factor != unset.end_factor, {"polynomial", "cosine", "wsd"});
  read_by("train.warmup_form", t.warmup_form != unset.warmup_form,
          {"polynomial", "cosine", "inverse_sqrt"});
  read_by("train.decay_steps", t.decay_steps != unset.decay_steps, {"wsd"});
  read_by("train.decay_ratio", t.decay_ratio != unset.decay_ratio, {"wsd"});
  read_by("train.decay_form", t.decay_form != unset.decay_form, {"wsd"});
}

void check_decay_to_step(const RecipeChecks& checks, const TrainSection& t) {
  checks.at_least("train.decay_to_step", 0);
  checks.require(t.decay_to_step == 0 || t.schedule == "jestimator",
                 {"train.decay_to_step", "train.schedule"},
                 str("train.decay_to_step is ", t.decay_to_step, " with train.schedule ",
                     t.schedule, ", which decays over train.steps"),
                 "set train.schedule to jestimator, or leave train.decay_to_step out");
  checks.require(t.decay_to_step == 0 || t.decay_to_step > t.warmup_steps,
                 {"train.decay_to_step", "train.warmup_steps"},
                 str("train.decay_to_step ", t.decay_to_step, " is not after train.warmup_steps ",
                     t.warmup_steps),
                 "raise train.decay_to_step, or set it to 0 for no decay");
}

}  // namespace

const std::vector<std::string>& schedule_names() {
  static const std::vector<std::string> kNames = names_of(schedules());
  return kNames;
}

Schedule schedule_of(const TrainSection& t) {
  const NamedSchedule& chosen = schedules().at(t.schedule);
  Schedule out{.learning_rate = t.learning_rate,
               .warmup_steps = t.warmup_steps,
               .total_steps = t.steps,
               .power = t.decay_power,
               .warmup = chosen.warmup,
               .decay = chosen.decay,
               .decay_to_step = t.decay_to_step,
               .decay_steps = t.decay_steps,
               .end = t.end_factor,
               .name = t.schedule};
  if (t.warmup_form != "auto") out.warmup = warmup_forms().at(t.warmup_form);
  if (t.decay_form == "sqrt") out.decay = Decay::last_sqrt;
  return out;
}

void check_schedule(const RecipeChecks& checks, const TrainSection& t) {
  checks.one_of("train.schedule", schedule_names());
  checks.at_least("train.warmup_steps", 0);
  check_decay_to_step(checks, t);
  std::vector<std::string> forms = names_of(warmup_forms());
  forms.insert(forms.begin(), "auto");
  checks.one_of("train.warmup_form", forms);
  checks.one_of("train.decay_form", {"linear", "sqrt"});
  check_readers(checks, t);
  checks.within("train.decay_power", 0);
  checks.within("train.end_factor", 0, 1);
  checks.at_least("train.decay_steps", 0);
  const bool stable = t.schedule == "wsd";
  checks.within("train.decay_ratio", 0, 1);
  checks.require(!stable || t.decay_steps > 0 || t.decay_ratio > 0,
                 {"train.decay_steps", "train.schedule"},
                 "train.schedule wsd has no train.decay_steps",
                 "give the number of last steps that the rate falls over; a tenth is usual");
  checks.require(!stable || t.warmup_steps + t.decay_steps <= t.steps,
                 {"train.decay_steps", "train.warmup_steps", "train.steps"},
                 str("train.warmup_steps ", t.warmup_steps, " and train.decay_steps ",
                     t.decay_steps, " are more than train.steps ", t.steps),
                 "lower one of the two");
}

}  // namespace smelt
