#include "cli/optimizer_choice.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "optim/adamw.h"
#include "optim/amos.h"
#include "optim/amos_presets.h"

namespace smelt {
namespace {

std::vector<std::string> preset_names() {
  std::vector<std::string> out{"auto", "none"};
  for (const AmosPreset& preset : amos_presets()) out.push_back(preset.name);
  return out;
}

// The recipe's own rules, then the preset's.
NameRules rules_of(const std::string& field, const std::string& own,
                   const std::vector<NameRule>& preset) {
  std::vector<NameRule> rules = parse_rules(field, own);
  rules.insert(rules.end(), preset.begin(), preset.end());
  return {field, rules};
}

Optimizer amos_of(const TrainSection& t, std::string_view model_type) {
  const AmosPreset preset = amos_preset_for(t.amos_preset == "auto" ? model_type : t.amos_preset);
  return amos({.eta = rules_of("train.eta_rules", t.eta_rules, preset.eta),
               .slot_shape = rules_of("train.slot_rules", t.slot_rules, preset.slot_shape),
               .beta = t.beta,
               .momentum = t.momentum,
               .clip_value = t.clip_value});
}

bool is_optax(const TrainSection& t) { return t.optimizer.starts_with("optax_"); }

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames{"bert_adamw", "adamw", "optax_adamw", "optax_adam",
                                               "amos"};
  return kNames;
}

Optimizer optimizer_of(const TrainSection& t, std::string_view model_type) {
  if (t.optimizer == "amos") return amos_of(t, model_type);
  AdamW o{.beta1 = t.momentum, .beta2 = t.beta, .weight_decay = t.weight_decay};
  if (t.optimizer != "bert_adamw") o.bias_correction = BiasCorrection::on;
  if (is_optax(t)) {
    o.epsilon = 1e-8;
    o.decay_of = DecayOf::all;
  }
  if (t.optimizer == "optax_adam") o.weight_decay = 0;
  return adamw(o);
}

Schedule schedule_of(const TrainSection& t) {
  const bool jestimator = t.schedule == "jestimator";
  return {.learning_rate = t.learning_rate,
          .warmup_steps = t.warmup_steps,
          .total_steps = t.steps,
          .power = 1.0,
          .warmup = t.schedule == "bert" ? Warmup::replaces : Warmup::multiplies,
          .decay = jestimator ? Decay::after_warmup : Decay::all_steps,
          .decay_to_step = t.decay_to_step};
}

double clip_norm_of(const TrainSection& t) {
  if (t.clip_norm == "auto") return t.optimizer == "amos" || is_optax(t) ? 0 : 1;
  double value = 0;
  const char* end = t.clip_norm.data() + t.clip_norm.size();
  const auto [read, error] = std::from_chars(t.clip_norm.data(), end, value);
  return error == std::errc() && read == end ? value : NAN;
}

static void check_amos_alone(const RecipeChecks& checks, const TrainSection& t) {
  const TrainSection unset;
  const auto read = [&](const std::string& field, bool given) {
    checks.require(t.optimizer == "amos" || !given, {field, "train.optimizer"},
                   str(field, " is given, but train.optimizer ", t.optimizer, " does not read it"),
                   str("set train.optimizer to amos, or leave ", field, " out"));
  };
  read("train.eta_rules", t.eta_rules != unset.eta_rules);
  read("train.slot_rules", t.slot_rules != unset.slot_rules);
  read("train.amos_preset", t.amos_preset != unset.amos_preset);
  read("train.clip_value", t.clip_value != unset.clip_value);
}

void check_optimizer(const RecipeChecks& checks, const TrainSection& t) {
  checks.one_of("train.optimizer", optimizer_names());
  checks.one_of("train.schedule", {"bert", "electra", "jestimator"});
  checks.one_of("train.amos_preset", preset_names());
  for (const char* field : {"train.learning_rate", "train.weight_decay", "train.clip_value"})
    checks.within(field, 0);
  checks.within("train.beta", 0, 1, RecipeChecks::Ends::without);
  checks.require(t.momentum >= 0 && t.momentum < 1, {"train.momentum"},
                 str("train.momentum is ", t.momentum, ", must be at least 0 and below 1"),
                 "0.9 is usual");
  check_amos_alone(checks, t);
  const double norm = clip_norm_of(t);
  checks.require(
      norm >= 0 && std::isfinite(norm), {"train.clip_norm"},
      str("train.clip_norm is ", t.clip_norm, ", must be auto or a finite number from 0 on"),
      "correct the value");
  checks.at_least("train.warmup_steps", 0);
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

}  // namespace smelt
