#include "model/optim/optimizer.h"

#include "compiler/ops/ops.h"

namespace smelt {

Tensor renewed(const OptimizerStep& step, Tensor before, Tensor after) {
  return step.apply ? select(step.apply, after, before) : after;
}

}  // namespace smelt
