// Learning rates and weight decay of individual parameters, set by rules on their names.
#pragma once

#include <span>

#include "model/optim/optimizer.h"
#include "model/optim/rules.h"

namespace smelt::model {

// Rules that change the learning rate and weight decay of single parameters.
class ParameterRules {
 public:
  ParameterRules() = default;
  // `rate` gives a factor on the learning rate; 0 freezes the parameter. `decay` gives its weight
  // decay. Without a matching rule, the factor is 1 and the decay that of the optimizer.
  ParameterRules(NameRules rate, NameRules decay)
      : rate_(std::move(rate)), decay_(std::move(decay)) {}

  // Throws UsageError if a rule matches no parameter, or a value is negative or not a number.
  void check(std::span<const Parameter> parameters) const;

  // Returns whether all layers of the parameter are frozen; it then has no gradient.
  bool frozen(const Parameter& parameter) const;
  // Sets the gradient of frozen layers of a stack to 0.
  compiler::Tensor mask_frozen(const Parameter& parameter, compiler::Tensor gradient) const;
  // Returns `after`, the updated parameter, with frozen layers of a stack restored. Needed because
  // weight decay that is not multiplied by the rate would change them.
  compiler::Tensor keep_frozen(const Parameter& parameter, compiler::Tensor after) const;
  // Returns `step` with the learning rate and weight decay of the parameter. `decay` is the
  // optimizer's weight decay, which applies to layers without a rule.
  OptimizerStep of(const Parameter& parameter, OptimizerStep step, double decay) const;

  Json settings() const;

 private:
  // Returns one value per layer, or an empty list if no rule matches any layer.
  std::vector<double> values(const NameRules& rules, const Parameter& parameter,
                             double otherwise) const;

  // Returns 1 for each trained layer and 0 for each frozen layer, or an empty list if none is
  // frozen.
  std::vector<double> trained_layers(const Parameter& parameter) const;

  NameRules rate_, decay_;
};

}  // namespace smelt::model
