#include "model/optim/optimizer_config.h"

#include <charconv>
#include <cmath>

#include "base/str.h"
#include "model/optim/adafactor.h"
#include "model/optim/adamw.h"
#include "model/optim/amos.h"
#include "model/optim/amos_presets.h"
#include "model/optim/lamb.h"
#include "model/optim/stable_adamw.h"

namespace smelt::model {
namespace {

// Returns the config's own rules, then the preset's.
NameRules rules_of(const std::string& field, const std::string& own,
                   const std::vector<NameRule>& preset) {
  std::vector<NameRule> rules = parse_rules(field, own);
  rules.insert(rules.end(), preset.begin(), preset.end());
  return {field, rules};
}

Optimizer make_amos(const OptimizerConfig& c, std::string_view model_type) {
  const AmosPreset preset = amos_preset_for(c.amos_preset == "auto" ? model_type : c.amos_preset);
  return amos(
      {.eta = rules_of("train.optimizer.eta_rules", c.eta_rules, preset.eta),
       .slot_shape = rules_of("train.optimizer.slot_rules", c.slot_rules, preset.slot_shape),
       .beta = c.beta2,
       .momentum = c.beta1,
       .clip_value = clip_value_of(c)});
}

Optimizer make_adafactor(const OptimizerConfig& c) {
  Adafactor o{.decay_rate = c.adafactor_exponent,
              .clip_threshold = c.adafactor_clip,
              .parameter_scale = c.adafactor_scaled,
              .momentum = c.adafactor_momentum};
  if (c.type == "hf_adafactor") {
    o.decay = Adafactor::Decay::by_rate;
    o.factored = Adafactor::Factored::last;
  }
  return adafactor(o);
}

bool is_optax(const OptimizerConfig& c) { return c.type.starts_with("optax_"); }

double number_of(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && read == end ? value : NAN;
}

}  // namespace

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> kNames{"bert_adamw", "adamw",        "optax_adamw",
                                               "optax_adam", "stable_adamw", "lamb",
                                               "amos",       "adafactor",    "hf_adafactor"};
  return kNames;
}

const std::vector<std::string>& amos_preset_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> out{"auto", "none"};
    for (const AmosPreset& preset : amos_presets()) out.push_back(preset.name);
    return out;
  }();
  return kNames;
}

bool is_adafactor(const OptimizerConfig& config) { return config.type.ends_with("adafactor"); }

Optimizer make_optimizer(const OptimizerConfig& config, std::string_view model_type) {
  if (config.type == "amos") return make_amos(config, model_type);
  if (is_adafactor(config)) return make_adafactor(config);
  AdamW o{.beta1 = config.beta1, .beta2 = config.beta2, .weight_decay = config.weight_decay};
  if (config.type != "bert_adamw") o.bias_correction = BiasCorrection::on;
  if (is_optax(config)) {
    o.epsilon = 1e-8;
    o.decay_of = DecayOf::all;
  }
  if (config.type == "optax_adam") o.weight_decay = 0;
  if (config.type == "stable_adamw") return stable_adamw(o);
  if (config.type == "lamb") return lamb({.adam = o, .most_norm = config.trust_norm});
  return adamw(o);
}

double clip_norm_of(const OptimizerConfig& config) {
  if (config.clip_norm == "auto")
    return config.type == "bert_adamw" || config.type == "adamw" ? 1 : 0;
  return number_of(config.clip_norm);
}

double clip_value_of(const OptimizerConfig& config) {
  if (config.clip_value == "auto") return config.type == "amos" ? 1 : 0;
  return number_of(config.clip_value);
}

ParameterRules parameter_rules_of(const OptimizerConfig& config, const std::string& layer_rates) {
  return {rules_of("train.optimizer.rate_rules",
                   join(std::vector{config.rate_rules, layer_rates}, ";"), {}),
          rules_of("train.optimizer.decay_rules", config.decay_rules, {})};
}

}  // namespace smelt::model
