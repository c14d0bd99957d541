// `smelt bench --updates`: measures optimizer updates alone.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "model/optim/optimizer.h"
#include "model/train_step/state_layout.h"
#include "pjrt/client.h"

namespace smelt::cli {

struct NamedOptimizer {
  std::string name;
  model::Optimizer optimizer;
};

// Times updates of all parameters of a model with random gradients on one device. Optimizers take
// turns, and the first update of each is not timed. Returns seconds per update and the number of
// elements in optimizer slots, by optimizer name.
Json time_updates(const std::shared_ptr<const pjrt::Client>& client,
                  const std::vector<model::StateTensor>& parameters,
                  const std::vector<NamedOptimizer>& optimizers, std::int64_t steps);

}  // namespace smelt::cli
