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
  std::string nm = {};  // as parse_nm() takes it; empty: no pattern
  double penalty = 5, score_learning_rate = 1e-2;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, PruningOptions>
void visit_fields(C& c, Visitor&& visit) {
  visit("sparsity", c.sparsity,
        "share of the weights of attention and feed-forward that becomes 0 from the warm-up's end "
        "over four fifths of the steps, the smallest first, and stays 0: a smaller file, not a "
        "faster model (docs/guides/compress.md); 0: none");
  visit("method", c.method,
        "magnitude: the smallest of these weights become 0; movement: those that learning takes "
        "towards 0 most; soft: those whose learned score falls, as many as these are");
  visit("penalty", c.penalty,
        "of soft: what scores are drawn down with; more: more weights become 0");
  visit("score_learning_rate", c.score_learning_rate, "of soft: the learning rate of the scores");
  visit("nm", c.nm,
        "2:4: before the first step all but 2 of each 4 neighbouring inputs of an output become 0, "
        "and stay 0, in the place of train.pruning.sparsity");
}

// Returns which weights are pruned at which steps of a run.
Pruning make_pruning(const PruningOptions& options, std::int64_t steps, std::int64_t warmup_steps);

// Returns the optimizer with the slots and updates that the pruning needs.
Optimizer with_pruning(Optimizer optimizer, const PruningOptions& options, const Pruning& pruning);

}  // namespace smelt::model
