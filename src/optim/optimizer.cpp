#include "optim/optimizer.h"

#include "ops/ops.h"

namespace smelt {

Tensor renewed(const OptimizerStep& step, Tensor before, Tensor after) {
  return step.taken ? select(step.taken, after, before) : after;
}

}  // namespace smelt
