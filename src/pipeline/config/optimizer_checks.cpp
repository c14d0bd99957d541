#include "pipeline/config/optimizer_checks.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace smelt::pipeline {
namespace {

// Checks that `field` is used by the recipe's schedule.
void check_read_by(const RecipeChecks& checks, const train::TrainConfig& t,
                   const std::string& field, bool given, const std::vector<std::string>& readers) {
  const bool read = std::ranges::find(readers, t.schedule.type) != readers.end();
  checks.require(
      read || !given, {field, "train.schedule.type"},
      str(field, " is set, but train.schedule.type ", t.schedule.type, " does not use it"),
      str("remove it; it is used by ", join(readers, ", ")));
}

void check_readers(const RecipeChecks& checks, const train::TrainConfig& t) {
  const train::TrainConfig unset;
  const auto read_by = [&](const std::string& field, bool given,
                           const std::vector<std::string>& readers) {
    check_read_by(checks, t, field, given, readers);
  };
  read_by("train.schedule.power", t.schedule.power != unset.schedule.power, {"polynomial"});
  read_by("train.schedule.min_lr_rate", t.schedule.min_lr_rate != unset.schedule.min_lr_rate,
          {"polynomial", "cosine", "wsd"});
  read_by("train.schedule.warmup_form", t.schedule.warmup_form != unset.schedule.warmup_form,
          {"polynomial", "cosine", "inverse_sqrt"});
  read_by("train.schedule.decay_steps", t.schedule.decay_steps != unset.schedule.decay_steps,
          {"wsd"});
  read_by("train.schedule.decay_ratio", t.schedule.decay_ratio != unset.schedule.decay_ratio,
          {"wsd"});
  read_by("train.schedule.decay", !t.schedule.decay.empty(), {"wsd"});
  read_by("train.schedule.decay_type", t.schedule.decay_type != unset.schedule.decay_type, {"wsd"});
}

void check_decay_to_step(const RecipeChecks& checks, const train::TrainConfig& t) {
  checks.at_least("train.schedule.decay_to_step", 0);
  checks.require(
      t.schedule.decay_to_step == 0 || t.schedule.type == "jestimator",
      {"train.schedule.decay_to_step", "train.schedule.type"},
      str("train.schedule.decay_to_step is ", t.schedule.decay_to_step,
          " with train.schedule.type ", t.schedule.type, ", which decays over train.steps"),
      "set train.schedule.type to jestimator, or remove train.schedule.decay_to_step");
  checks.require(
      t.schedule.decay_to_step == 0 || t.schedule.decay_to_step > t.schedule.warmup_steps,
      {"train.schedule.decay_to_step", "train.schedule.warmup_steps"},
      str("train.schedule.decay_to_step ", t.schedule.decay_to_step,
          " is not after train.schedule.warmup_steps ", t.schedule.warmup_steps),
      "raise train.schedule.decay_to_step, or set it to 0 for no decay");
}

// Checks that `field` is used by the recipe's optimizer.
void check_optimizer_reads(const RecipeChecks& checks, const train::TrainConfig& t, bool reads,
                           const std::string& field, bool given, const char* reader) {
  checks.require(
      reads || !given, {field, "train.optimizer.type"},
      str(field, " is set, but train.optimizer.type ", t.optimizer.type, " does not use it"),
      str("set train.optimizer.type to ", reader, ", or remove ", field));
}

void check_adafactor_alone(const RecipeChecks& checks, const train::TrainConfig& t) {
  const train::TrainConfig unset;
  const auto read = [&](const std::string& field, bool given) {
    check_optimizer_reads(checks, t, model::is_adafactor(t.optimizer), field, given, "adafactor");
  };
  read("train.optimizer.adafactor_clip",
       t.optimizer.adafactor_clip != unset.optimizer.adafactor_clip);
  read("train.optimizer.adafactor_exponent",
       t.optimizer.adafactor_exponent != unset.optimizer.adafactor_exponent);
  read("train.optimizer.adafactor_momentum",
       t.optimizer.adafactor_momentum != unset.optimizer.adafactor_momentum);
  read("train.optimizer.adafactor_scaled",
       t.optimizer.adafactor_scaled != unset.optimizer.adafactor_scaled);
  checks.within("train.optimizer.adafactor_clip", 0);
  checks.within("train.optimizer.adafactor_exponent", 0, 1, RecipeChecks::Ends::without);
  checks.require(t.optimizer.adafactor_momentum >= 0 && t.optimizer.adafactor_momentum < 1,
                 {"train.optimizer.adafactor_momentum"},
                 str("train.optimizer.adafactor_momentum is ", t.optimizer.adafactor_momentum,
                     ", must be at least 0 and below 1"),
                 "use 0 for none, as T5 does");
}

void check_amos_alone(const RecipeChecks& checks, const train::TrainConfig& t) {
  const train::TrainConfig unset;
  const auto read = [&](const std::string& field, bool given) {
    check_optimizer_reads(checks, t, t.optimizer.type == "amos", field, given, "amos");
  };
  read("train.optimizer.eta_rules", t.optimizer.eta_rules != unset.optimizer.eta_rules);
  read("train.optimizer.slot_rules", t.optimizer.slot_rules != unset.optimizer.slot_rules);
  read("train.optimizer.amos_preset", t.optimizer.amos_preset != unset.optimizer.amos_preset);
}

// Checks train.optimizer.clip_norm or clip_value.
void check_clip(const RecipeChecks& checks, const std::string& field, const std::string& text,
                double value) {
  checks.require(value >= 0 && std::isfinite(value), {field},
                 str(field, " is ", text, ", must be auto or a finite number of at least 0"),
                 "use 1 to clip gradients, or 0 for no clipping");
}

void check_rules(const RecipeChecks& checks, const train::TrainConfig& t) {
  for (const char* field : {"train.optimizer.rate_rules", "train.optimizer.decay_rules"})
    checks.accepts({field}, [&] { (void)model::parameter_rules_of(t.optimizer); });
  checks.require(t.optimizer.type != "amos" || t.optimizer.decay_rules.empty(),
                 {"train.optimizer.decay_rules", "train.optimizer.type"},
                 "train.optimizer.decay_rules is set, but train.optimizer.type amos defines its "
                 "own weight decay",
                 "remove train.optimizer.decay_rules");
}

}  // namespace

void check_schedule(const RecipeChecks& checks, const train::TrainConfig& t) {
  checks.one_of("train.schedule.type", model::schedule_names());
  checks.at_least("train.schedule.warmup_steps", 0);
  check_decay_to_step(checks, t);
  checks.one_of("train.schedule.warmup_form", model::warmup_form_names());
  checks.one_of("train.schedule.decay_type", model::decay_type_names());
  check_readers(checks, t);
  checks.within("train.schedule.power", 0);
  checks.within("train.schedule.min_lr_rate", 0, 1);
  checks.at_least("train.schedule.decay_steps", 0);
  const bool stable = t.schedule.type == "wsd";
  checks.within("train.schedule.decay_ratio", 0, 1);
  checks.require(!stable || t.schedule.decay_steps > 0 || t.schedule.decay_ratio > 0 ||
                     !t.schedule.decay.empty(),
                 {"train.schedule.decay_steps", "train.schedule.type"},
                 "train.schedule.type wsd needs train.schedule.decay_steps",
                 "set it to the number of decay steps at the end; a tenth of train.steps is usual");
  // convert_schedule() checks lengths with units, and the steps that it computes from ratios.
  const bool is_converted =
      !t.length.empty() || !t.schedule.warmup.empty() || t.schedule.warmup_ratio > 0;
  checks.require(
      !stable || is_converted || t.schedule.warmup_steps + t.schedule.decay_steps <= t.steps,
      {"train.schedule.decay_steps", "train.schedule.warmup_steps", "train.steps"},
      str("train.schedule.warmup_steps ", t.schedule.warmup_steps,
          " and train.schedule.decay_steps ", t.schedule.decay_steps, " are more than train.steps ",
          t.steps),
      "lower one of the two");
}

void check_optimizer(const RecipeChecks& checks, const train::TrainConfig& t) {
  checks.one_of("train.optimizer.type", model::optimizer_names());
  checks.one_of("train.optimizer.amos_preset", model::amos_preset_names());
  for (const char* field : {"train.optimizer.learning_rate", "train.optimizer.weight_decay",
                            "train.optimizer.trust_norm"})
    checks.within(field, 0);
  checks.within("train.optimizer.beta2", 0, 1, RecipeChecks::Ends::without);
  checks.require(
      t.optimizer.beta1 >= 0 && t.optimizer.beta1 < 1, {"train.optimizer.beta1"},
      str("train.optimizer.beta1 is ", t.optimizer.beta1, ", must be at least 0 and below 1"),
      "use 0.9");
  check_amos_alone(checks, t);
  check_adafactor_alone(checks, t);
  check_clip(checks, "train.optimizer.clip_norm", t.optimizer.clip_norm,
             model::clip_norm_of(t.optimizer));
  check_clip(checks, "train.optimizer.clip_value", t.optimizer.clip_value,
             model::clip_value_of(t.optimizer));
  check_optimizer_reads(checks, t, t.optimizer.type == "lamb", "train.optimizer.trust_norm",
                        t.optimizer.trust_norm != 0, "lamb");
  check_rules(checks, t);
  check_schedule(checks, t);
}

}  // namespace smelt::pipeline
