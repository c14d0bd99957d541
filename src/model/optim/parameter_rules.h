// Rates and weight decay of single parameters, by rules of their names.
#pragma once

#include <span>

#include "model/optim/optimizer.h"
#include "model/optim/rules.h"

namespace smelt {

class ParameterRules {
 public:
  ParameterRules() = default;
  // `rate` gives a factor of the learning rate, 0: the parameter is frozen; `decay` its weight
  // decay. Where no rule matches, 1 and what the optimizer's settings say.
  ParameterRules(NameRules rate, NameRules decay)
      : rate_(std::move(rate)), decay_(std::move(decay)) {}

  // UsageError for a rule that names no parameter, or a value that is no number from 0 on.
  void check(std::span<const Parameter> parameters) const;

  // All of its layers: it has no gradient.
  bool frozen(const Parameter& parameter) const;
  // The gradient without that of frozen layers of a stack.
  Tensor mask_frozen(const Parameter& parameter, Tensor gradient) const;
  // Returns `after`, the parameter's value after an update, with its value before in frozen layers
  // of a stack: weight decay that is not times the rate does not move them either.
  Tensor keep_frozen(const Parameter& parameter, Tensor after) const;
  // The step as the parameter takes it; `decay` is the optimizer's own, for layers without a rule.
  OptimizerStep of(const Parameter& parameter, OptimizerStep step, double decay) const;

  Json settings() const;

 private:
  // One value for each layer; empty where no rule matches any.
  std::vector<double> values(const NameRules& rules, const Parameter& parameter,
                             double otherwise) const;

  // 1 for each layer that is trained, 0 for each that is frozen; empty if no layer is frozen.
  std::vector<double> trained_layers(const Parameter& parameter) const;

  NameRules rate_, decay_;
};

}  // namespace smelt
