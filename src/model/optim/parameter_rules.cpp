#include "model/optim/parameter_rules.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::select;
using compiler::Tensor;
using compiler::zeros_like;

std::vector<double> ParameterRules::values(const NameRules& rules, const Parameter& p,
                                           double otherwise) const {
  std::vector<double> out;
  bool found = false;
  for (const std::string& name : p.names()) {
    const auto value = rules.find(name, p.dims_of_one());
    out.push_back(otherwise);
    if (!value) continue;
    const double* number = std::get_if<double>(&*value);
    if (number == nullptr || !(*number >= 0) || !std::isfinite(*number))
      throw UsageError(str(rules.where(), ": ", name, " is ", value_text(*value),
                           ", must be a number of at least 0"),
                       "write a rule such as .*/layer_0/.* = 0.5");
    out.back() = *number;
    found = true;
  }
  return found ? out : std::vector<double>();
}

void ParameterRules::check(std::span<const Parameter> parameters) const {
  std::vector<std::string> names;
  for (const Parameter& p : parameters)
    for (std::string& name : p.names()) names.push_back(std::move(name));
  rate_.check_used(names);
  decay_.check_used(names);
}

bool ParameterRules::frozen(const Parameter& p) const {
  const auto rates = values(rate_, p, 1);
  return !rates.empty() && std::ranges::all_of(rates, [](double rate) { return rate == 0; });
}

std::vector<double> ParameterRules::trained_layers(const Parameter& p) const {
  auto rates = values(rate_, p, 1);
  if (std::ranges::find(rates, 0.0) == rates.end()) return {};
  for (double& rate : rates) rate = rate > 0 ? 1 : 0;
  return rates;
}

Tensor ParameterRules::mask_frozen(const Parameter& p, Tensor gradient) const {
  const auto trained = trained_layers(p);
  return trained.empty() ? gradient : gradient * by_layer(p, trained);
}

Tensor ParameterRules::keep_frozen(const Parameter& p, Tensor after) const {
  const auto trained = trained_layers(p);
  if (trained.empty()) return after;
  const Tensor trained_elements = broadcast_to(by_layer(p, trained), after.dims());
  return select(compare(trained_elements, zeros_like(trained_elements), Compare::gt), after,
                p.tensor);
}

OptimizerStep ParameterRules::of(const Parameter& p, OptimizerStep step, double decay) const {
  if (const auto rates = values(rate_, p, 1); !rates.empty())
    step.rate = step.rate * by_layer(p, rates);
  if (const auto decays = values(decay_, p, decay); !decays.empty())
    step.weight_decay = by_layer(p, decays);
  return step;
}

Json ParameterRules::settings() const {
  return {{"rate", rate_.settings()}, {"decay", decay_.settings()}};
}

}  // namespace smelt::model
