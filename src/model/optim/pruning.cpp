#include "model/optim/pruning.h"

#include <algorithm>
#include <cmath>

#include "compiler/ops/ops.h"
#include "model/optim/added_slots.h"

namespace smelt::model {

using compiler::Compare;
using compiler::compare;
using compiler::Dims;
using compiler::select;
using compiler::Tensor;
using compiler::zeros_like;

PruningSchedule pruning_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity) {
  constexpr std::int64_t kEvery = 100, kParts = 20;
  PruningSchedule out{.sparsity = sparsity};
  out.every = std::clamp<std::int64_t>(steps / kParts, 1, kEvery);
  const std::int64_t frozen_from = steps * 4 / 5;
  out.begin =
      std::clamp<std::int64_t>(warmup_steps, 0, std::max<std::int64_t>(frozen_from - out.every, 0));
  out.end = out.begin + (frozen_from - out.begin) / out.every * out.every;
  return out;
}

bool is_pruned_at(const PruningSchedule& s, std::int64_t step) {
  return s.sparsity > 0 && step >= s.begin && step <= s.end && (step - s.begin) % s.every == 0 &&
         sparsity_at(s, step) > 0;
}

std::optional<std::int64_t> last_pruning(const PruningSchedule& s, std::int64_t step) {
  const std::int64_t before = std::min(step, s.end) - s.begin;
  const std::int64_t last = s.begin + before / s.every * s.every;
  if (before < 0 || !is_pruned_at(s, last)) return std::nullopt;
  return last;
}

double sparsity_at(const PruningSchedule& s, std::int64_t step) {
  if (step >= s.end) return s.sparsity;
  const double done = static_cast<double>(std::max<std::int64_t>(step - s.begin, 0)) /
                      static_cast<double>(s.end - s.begin);
  return s.sparsity * (1 - std::pow(1 - done, 3));
}

Pruning prune_over(std::int64_t steps, std::int64_t warmup_steps, double sparsity, PruneBy by) {
  return {.schedule = pruning_over(steps, warmup_steps, sparsity), .by = by};
}

Pruning prune_in_pattern(const NmPattern& nm) {
  const double zeros = 1 - static_cast<double>(nm.kept) / static_cast<double>(nm.of);
  return {.schedule = {.sparsity = zeros}, .nm = nm};
}

std::uint64_t kept_of(std::uint64_t n, double sparsity) {
  const double wanted = std::nearbyint(static_cast<double>(n) * (1 - sparsity));
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1);
}

bool is_prunable(std::string_view parameter, const Dims& one) {
  return one.size() == 2 && parameter.find("/layer_") != parameter.npos &&
         parameter.find("relative_attention_bias") == parameter.npos;
}

Optimizer keeping_zeros(Optimizer optimizer) {
  Optimizer out = optimizer;
  out.settings["prune_by"] = "magnitude";
  out.update = [own = std::move(optimizer.update)](const OptimizerStep& step, const Parameter& p,
                                                   std::span<const Tensor> slots, Tensor gradient) {
    UpdatedParameter updated = own(step, p, slots, gradient);
    const Tensor zeros = zeros_like(p.tensor);
    if (is_prunable(p.name, p.dims_of_one()))
      updated.value = select(compare(p.tensor, zeros, Compare::eq), zeros, updated.value);
    return updated;
  };
  return out;
}

Optimizer counting_movement(Optimizer optimizer) {
  optimizer.settings["prune_by"] = kMovement;
  return with_added_slots(
      std::move(optimizer), {kMovement},
      [](const OptimizerStep& step, const Parameter& p, std::span<const Tensor> slots,
         Tensor gradient) {
        return std::vector{renewed(step, slots[0], slots[0] - gradient * p.tensor)};
      });
}

}  // namespace smelt::model
