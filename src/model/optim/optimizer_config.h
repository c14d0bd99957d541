// The settings of the optimizer in a recipe's section train.optimizer.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/optim/optimizer.h"
#include "model/optim/parameter_rules.h"

namespace smelt::model {

struct OptimizerConfig {
  std::string type = "bert_adamw";  // one of optimizer_names()
  double learning_rate = 1e-4;
  double beta1 = 0.9, beta2 = 0.999;
  double weight_decay = 0.01;
  std::string clip_norm = "auto", clip_value = "auto";  // "auto" or a number
  double layer_decay = 1.0;
  std::string rate_rules = "", decay_rules = "";
  double trust_norm = 0.0;
  std::string amos_preset = "auto", eta_rules = "", slot_rules = "";
  double adafactor_clip = 1.0, adafactor_exponent = 0.8, adafactor_momentum = 0.0;
  bool adafactor_scaled = true;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, OptimizerConfig>
void visit_fields(C& c, Visitor&& visit) {
  visit("type", c.type,
        "bert_adamw (as in the original BERT, without bias correction), adamw, optax_adamw, "
        "optax_adam, stable_adamw (as in ModernBERT, without clipping), lamb, amos, adafactor (as "
        "in T5X) or hf_adafactor (as in transformers)");
  visit("learning_rate", c.learning_rate, "peak learning rate");
  visit("beta1", c.beta1, "beta1 of Adam; momentum of Amos' updates, 0 = none (saves memory)");
  visit("beta2", c.beta2, "decay of the mean of squared gradients: beta2 of Adam, beta of Amos");
  visit("weight_decay", c.weight_decay,
        "decoupled weight decay of bert_adamw, adamw, optax_adamw, stable_adamw and lamb; for "
        "adafactor, use "
        "decay_rules");
  visit("clip_norm", c.clip_norm,
        "clip the gradient to this global norm; 0 = no clipping; auto: 1 with bert_adamw and "
        "adamw, else 0");
  visit("clip_value", c.clip_value,
        "clip each element of the gradient to this absolute value; 0 = no clipping; auto: 1 with "
        "amos, else 0");
  visit("layer_decay", c.layer_decay,
        "layer-wise learning rate decay, for model.type classify: factor on the rate from each "
        "layer to the layer below, 0.8 in ELECTRA; 1: the same rate for all layers");
  visit("rate_rules", c.rate_rules,
        "factors on the learning rate by parameter name, 0 = frozen: '.*/embeddings/.* = 0'");
  visit("decay_rules", c.decay_rules,
        "weight decay by parameter name, instead of weight_decay: '.*/kernel = 0.1'");
  visit("trust_norm", c.trust_norm,
        "upper bound of the parameter norm in the trust ratio of lamb; 0 = no bound");
  visit("amos_preset", c.amos_preset,
        "preset of eta and slot rules for amos: bert, jestimator_bert, t5, none; auto: by "
        "model.type");
  visit("eta_rules", c.eta_rules,
        "eta of amos, the expected scale of a parameter, by name; these rules come before the "
        "preset's: '.*/kernel = sqrt(1 / SHAPE[0]); …'");
  visit("slot_rules", c.slot_rules,
        "shape of amos' slots by parameter name: '.*/kernel = (1, SHAPE[1]); .* = ()'");
  visit("adafactor_clip", c.adafactor_clip,
        "adafactor: clip each parameter's update to this root mean square; 0 = no clipping");
  visit("adafactor_exponent", c.adafactor_exponent,
        "adafactor: decay of the mean of squared gradients; beta2 of step t is "
        "1 - t^-adafactor_exponent");
  visit("adafactor_momentum", c.adafactor_momentum,
        "adafactor: momentum of the updates; 0 = none (saves memory)");
  visit("adafactor_scaled", c.adafactor_scaled,
        "adafactor: multiply the learning rate by each parameter's root mean square");
}

const std::vector<std::string>& optimizer_names();
const std::vector<std::string>& amos_preset_names();  // "auto" and "none" among them

bool is_adafactor(const OptimizerConfig& config);

// Builds the optimizer. amos_preset "auto" selects the preset for `model_type`. Throws UsageError
// for an invalid rule.
Optimizer make_optimizer(const OptimizerConfig& config, std::string_view model_type);

// Returns the global norm to which clip_norm clips the gradient: 0 if it does not clip, NaN if the
// field is not a number.
double clip_norm_of(const OptimizerConfig& config);
// Returns the absolute value to which clip_value clips each element of the gradient: 0 if it does
// not clip, NaN if the field is not a number.
double clip_value_of(const OptimizerConfig& config);

// Returns the rules for individual parameters. The learning rate rules `layer_rates` are appended
// to rate_rules, so they apply only where no rule of rate_rules matches. Throws UsageError for an
// invalid rule.
ParameterRules parameter_rules_of(const OptimizerConfig& config,
                                  const std::string& layer_rates = {});

}  // namespace smelt::model
