#include "pipeline/optimizer_choice.h"

#include <charconv>
#include <cmath>

#include "base/error.h"
#include "model/optim/adafactor.h"
#include "model/optim/adamw.h"
#include "model/optim/amos.h"
#include "model/optim/amos_presets.h"
#include "model/optim/lamb.h"
#include "pipeline/schedule_choice.h"

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
               .clip_value = clip_value_of(t)});
}

bool is_adafactor(const TrainSection& t) { return t.optimizer.ends_with("adafactor"); }

Optimizer adafactor_of(const TrainSection& t) {
  Adafactor o{.decay_rate = t.adafactor_exponent,
              .clip_threshold = t.adafactor_clip,
              .parameter_scale = t.adafactor_scaled,
              .momentum = t.adafactor_momentum};
  if (t.optimizer == "hf_adafactor") {
    o.decay = Adafactor::Decay::by_rate;
    o.factored = Adafactor::Factored::last;
  }
  return adafactor(o);
}

bool is_optax(const TrainSection& t) { return t.optimizer.starts_with("optax_"); }

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames{"bert_adamw", "adamw",       "optax_adamw",
                                               "optax_adam", "lamb",        "amos",
                                               "adafactor",  "hf_adafactor"};
  return kNames;
}

Optimizer optimizer_of(const TrainSection& t, std::string_view model_type) {
  if (t.optimizer == "amos") return amos_of(t, model_type);
  if (is_adafactor(t)) return adafactor_of(t);
  AdamW o{.beta1 = t.momentum, .beta2 = t.beta, .weight_decay = t.weight_decay};
  if (t.optimizer != "bert_adamw") o.bias_correction = BiasCorrection::on;
  if (is_optax(t)) {
    o.epsilon = 1e-8;
    o.decay_of = DecayOf::all;
  }
  if (t.optimizer == "optax_adam") o.weight_decay = 0;
  if (t.optimizer == "lamb") return lamb({.adam = o, .most_norm = t.trust_norm});
  return adamw(o);
}

static double number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && read == end ? value : NAN;
}

double clip_norm_of(const TrainSection& t) {
  if (t.clip_norm == "auto") return t.optimizer.ends_with("adamw") && !is_optax(t) ? 1 : 0;
  return number_of(t.clip_norm);
}

double clip_value_of(const TrainSection& t) {
  if (t.clip_value == "auto") return t.optimizer == "amos" ? 1 : 0;
  return number_of(t.clip_value);
}

ParameterRules parameter_rules_of(const TrainSection& t, const std::string& layer_rates) {
  return {rules_of("train.rate_rules", join(std::vector{t.rate_rules, layer_rates}, ";"), {}),
          rules_of("train.decay_rules", t.decay_rules, {})};
}

// A field that other optimizers do not read.
static void check_optimizer_reads(const RecipeChecks& checks, const TrainSection& t, bool reads,
                                  const std::string& field, bool given, const char* reader) {
  checks.require(reads || !given, {field, "train.optimizer"},
                 str(field, " is given, but train.optimizer ", t.optimizer, " does not read it"),
                 str("set train.optimizer to ", reader, ", or leave ", field, " out"));
}

static void check_adafactor_alone(const RecipeChecks& checks, const TrainSection& t) {
  const TrainSection unset;
  const auto read = [&](const std::string& field, bool given) {
    check_optimizer_reads(checks, t, is_adafactor(t), field, given, "adafactor");
  };
  read("train.adafactor_clip", t.adafactor_clip != unset.adafactor_clip);
  read("train.adafactor_exponent", t.adafactor_exponent != unset.adafactor_exponent);
  read("train.adafactor_momentum", t.adafactor_momentum != unset.adafactor_momentum);
  read("train.adafactor_scaled", t.adafactor_scaled != unset.adafactor_scaled);
  checks.within("train.adafactor_clip", 0);
  checks.within("train.adafactor_exponent", 0, 1, RecipeChecks::Ends::without);
  checks.require(
      t.adafactor_momentum >= 0 && t.adafactor_momentum < 1, {"train.adafactor_momentum"},
      str("train.adafactor_momentum is ", t.adafactor_momentum, ", must be at least 0 and below 1"),
      "use 0 for none, as T5 does");
}

static void check_amos_alone(const RecipeChecks& checks, const TrainSection& t) {
  const TrainSection unset;
  const auto read = [&](const std::string& field, bool given) {
    check_optimizer_reads(checks, t, t.optimizer == "amos", field, given, "amos");
  };
  read("train.eta_rules", t.eta_rules != unset.eta_rules);
  read("train.slot_rules", t.slot_rules != unset.slot_rules);
  read("train.amos_preset", t.amos_preset != unset.amos_preset);
}

// Either of the two clips.
static void check_clip(const RecipeChecks& checks, const std::string& field,
                       const std::string& text, double value) {
  checks.require(value >= 0 && std::isfinite(value), {field},
                 str(field, " is ", text, ", must be auto or a finite number from 0 on"),
                 "correct the value");
}

static void check_rules(const RecipeChecks& checks, const TrainSection& t) {
  for (const char* field : {"train.rate_rules", "train.decay_rules"})
    checks.accepts({field}, [&] { (void)parameter_rules_of(t); });
  checks.require(t.optimizer != "amos" || t.decay_rules.empty(),
                 {"train.decay_rules", "train.optimizer"},
                 "train.decay_rules are given, but train.optimizer amos has a decay of its own",
                 "leave train.decay_rules out");
}

void check_optimizer(const RecipeChecks& checks, const TrainSection& t) {
  checks.one_of("train.optimizer", optimizer_names());
  checks.one_of("train.amos_preset", preset_names());
  for (const char* field : {"train.learning_rate", "train.weight_decay", "train.trust_norm"})
    checks.within(field, 0);
  checks.within("train.beta", 0, 1, RecipeChecks::Ends::without);
  checks.require(t.momentum >= 0 && t.momentum < 1, {"train.momentum"},
                 str("train.momentum is ", t.momentum, ", must be at least 0 and below 1"),
                 "use 0.9");
  check_amos_alone(checks, t);
  check_adafactor_alone(checks, t);
  check_clip(checks, "train.clip_norm", t.clip_norm, clip_norm_of(t));
  check_clip(checks, "train.clip_value", t.clip_value, clip_value_of(t));
  check_optimizer_reads(checks, t, t.optimizer == "lamb", "train.trust_norm", t.trust_norm != 0,
                        "lamb");
  check_rules(checks, t);
  check_schedule(checks, t);
}

}  // namespace smelt
