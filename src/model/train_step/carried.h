// What a training step carries to the next, by kind.
#pragma once

#include <vector>

#include "model/train_step/program.h"

namespace smelt {

struct Carried {
  std::vector<Tensor> values, slots, averages;  // none of the last where no averages are kept
  Tensor losses = {};                           // empty where no spikes are looked for
  Tensor flag = {};

  // As carried_layout() has them.
  std::vector<Tensor> in_order() const;
};

StateLayout carried_layout(const TrainingConfig& config, const Parameters& parameters,
                           const PartitionRules& partition);
// The state that comes: the parameters, which are arguments of the program already, and new
// arguments for what follows them in `layout`, which is carried_layout()'s.
Carried carried_arguments(Graph& graph, const StateLayout& layout, const TrainingConfig& config,
                          const Parameters& parameters);

}  // namespace smelt
