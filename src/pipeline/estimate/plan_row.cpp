#include <algorithm>
#include <map>

#include "pipeline/estimate/plan_recipe.h"

namespace smelt::pipeline {

std::optional<std::size_t> PlanRow::taken() const {
  // A turn has no entry if its variant is not possible for this batch size.
  std::map<std::size_t, std::size_t> by_turn;
  for (std::size_t i = 0; i < tried.size(); ++i)
    if (tried[i].turn) by_turn.emplace(*tried[i].turn, i);
  if (!by_turn.contains(0)) return std::nullopt;
  for (const auto& [turn, i] : by_turn) {
    if (tried[i].compiled.end == cost_model::CompileEnd::fits) return i;
    if (tried[i].compiled.end != cost_model::CompileEnd::does_not_fit) return std::nullopt;
  }
  return std::nullopt;
}

double PlanRow::share_of_peak() const {
  if (!fits()) return 0;
  const cost_model::StepProducts& p = form().products;
  return flops / (form().step->likely * type.flops_of(p.of, p.exact) * type.devices);
}

}  // namespace smelt::pipeline
