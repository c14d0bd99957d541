#include "model/optim/soft_pruning.h"

#include <cmath>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/optim/adamw.h"
#include "model/optim/added_slots.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::clamp;
using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::DType;
using compiler::exp;
using compiler::full_like;
using compiler::select;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

Tensor sigmoid(Tensor x) { return 1.0 / (1.0 + exp(-x)); }

// Returns 1 - (1 - p)^3 for the schedule's progress p after `step` (s32) steps, as f32.
Tensor growth_at(const PruningSchedule& s, Tensor step) {
  const Tensor done = (convert(step, DType::f32) - static_cast<double>(s.begin)) /
                      static_cast<double>(std::max<std::int64_t>(s.end - s.begin, 1));
  const Tensor left = 1.0 - clamp(zeros_like(done), done, full_like(done, 1));
  return 1.0 - left * left * left;
}

// Returns the new score and the new values of its two Adam slots.
std::vector<Tensor> update_scores(const SoftPruning& soft, const PruningSchedule& schedule,
                                  const OptimizerStep& step, const Parameter& p,
                                  std::span<const Tensor> slots, Tensor gradient) {
  const Tensor score = slots[0], over = sigmoid(score);
  double of_matrix = 1;
  for (const std::int64_t size : p.dims_of_one()) of_matrix *= static_cast<double>(size);
  const Tensor pull =
      broadcast_to(growth_at(schedule, step.step) * (soft.penalty / of_matrix), score.dims());
  const Tensor slope = gradient * p.tensor + pull * over * (1.0 - over);
  OptimizerStep own = step;
  own.weight_decay = {};
  const AdamStep adam =
      adam_step({.epsilon = 1e-8, .weight_decay = 0, .bias_correction = BiasCorrection::on}, own, p,
                slots.subspan(1), slope);
  // Frozen layers of a stack must not change their scores either.
  const Tensor rate = broadcast_to(step.rate, score.dims());
  const Tensor learns = compare(rate, zeros_like(rate), Compare::gt);
  const Tensor moved = select(learns, score - soft.rate * adam.direction, score);
  return {renewed(step, score, moved), adam.slots[0], adam.slots[1]};
}

}  // namespace

Pruning prune_softly(std::int64_t steps, std::int64_t warmup_steps) {
  return prune_over(steps, warmup_steps, kSoftThreshold, PruneBy::soft);
}

Optimizer learning_scores(Optimizer optimizer, const SoftPruning& soft,
                          const PruningSchedule& schedule) {
  optimizer.settings["prune_by"] = "soft";
  optimizer.settings["prune_penalty"] = soft.penalty;
  optimizer.settings["prune_rate"] = soft.rate;
  return with_added_slots(std::move(optimizer), {kSoftScore, "score_m", "score_v"},
                          [soft, schedule](const OptimizerStep& step, const Parameter& p,
                                           std::span<const Tensor> slots, Tensor gradient) {
                            return update_scores(soft, schedule, step, p, slots, gradient);
                          });
}

float least_score(const PruningSchedule& schedule, std::int64_t step) {
  const double threshold = sparsity_at(schedule, step);
  return static_cast<float>(std::log(threshold / (1 - threshold)));
}

}  // namespace smelt::model
