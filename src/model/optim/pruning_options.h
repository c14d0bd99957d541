// The settings of pruning during training in a recipe's section train.pruning.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/choice.h"
#include "model/optim/pruning.h"

namespace smelt::model {

inline constexpr NamedValues<PruneBy, 3> kPruningMethods{
    {{"magnitude", PruneBy::magnitude}, {"movement", PruneBy::movement}, {"soft", PruneBy::soft}}};
constexpr const NamedValues<PruneBy, 3>& words_of(PruneBy) { return kPruningMethods; }

struct PruningOptions {
  double sparsity = 0;
  PruneBy method = PruneBy::magnitude;
  std::string nm = {};  // N:M pattern for parse_nm(), "2:4"; empty: no pattern
  double penalty = 5, score_learning_rate = 1e-2;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, PruningOptions>
void visit_fields(C& c, Visitor&& visit) {
  visit("sparsity", c.sparsity,
        "final share of the attention and feed-forward weights that are pruned (set to 0), "
        "gradually from the end of the warm-up to 4/5 of the steps; makes the file smaller, not "
        "the model faster (docs/guides/compress.md); 0: no pruning");
  visit("method", c.method,
        "which weights are pruned: magnitude: the smallest; movement: those that training moves "
        "towards 0; soft: those with a learned score below a threshold, regardless of sparsity");
  visit("penalty", c.penalty,
        "penalty on the scores of method soft; a larger penalty prunes more weights");
  visit("score_learning_rate", c.score_learning_rate, "learning rate of the scores, for soft");
  visit("nm", c.nm,
        "N:M sparsity instead of train.pruning.sparsity; 2:4: before the first step, prune all but "
        "2 of each 4 neighbouring inputs of an output");
}

// Returns which weights are pruned at which steps of a run.
Pruning make_pruning(const PruningOptions& options, std::int64_t steps, std::int64_t warmup_steps);

// Returns the optimizer with the slots and updates that the pruning needs.
Optimizer with_pruning(Optimizer optimizer, const PruningOptions& options, const Pruning& pruning);

}  // namespace smelt::model
