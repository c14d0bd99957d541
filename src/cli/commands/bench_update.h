// `smelt bench --updates`: optimizers' updates alone.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/optim/optimizer.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt {

struct NamedOptimizer {
  std::string name;
  Optimizer optimizer;
};

// Updates of all parameters of a model on one device by made-up gradients, each optimizer's in
// turns, the first of each not timed: seconds and elements of slots by name.
Json time_updates(const std::shared_ptr<const Client>& client,
                  const std::vector<StateTensor>& parameters,
                  const std::vector<NamedOptimizer>& optimizers, std::int64_t steps);

}  // namespace smelt
