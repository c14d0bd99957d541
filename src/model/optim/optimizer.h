// The interface of optimizers to the training program: slots per parameter and an update rule.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "compiler/ops/ops.h"
#include "model/nn/scope.h"

namespace smelt::model {

// A per-parameter tensor that is kept from step to step (f32, of any shape). For a stacked
// parameter it holds one per layer, stacked in the same way.
struct Slot {
  std::string name;     // "adam_m"; stored in checkpoints as "<parameter>/adam_m"
  compiler::Dims dims;  // for one layer
  double start = 0;
};

// Inputs of an update that do not depend on the parameter.
struct OptimizerStep {
  compiler::Tensor rate;        // f32; broadcasts over the parameter
  compiler::Tensor step;        // s32 scalar: number of earlier steps
  bool sums_in_slices = false;  // split long sums into slices; for CPUs without a mesh
  compiler::Tensor apply = {};  // pred scalar; if false nothing changes; empty: always true
  compiler::Tensor weight_decay =
      {};  // broadcasts over the parameter; empty: from the optimizer's settings
};

// Returns `after` if the step is applied, otherwise `before`. Use the result, not `after`, in all
// later computations with a slot's new value. Otherwise XLA would have to keep both the old and the
// new value, and would copy the old one.
inline compiler::Tensor renewed(const OptimizerStep& step, compiler::Tensor before,
                                compiler::Tensor after) {
  return step.apply ? compiler::select(step.apply, after, before) : after;
}

// The result of an update.
struct UpdatedParameter {
  compiler::Tensor value;
  std::vector<compiler::Tensor> slots;
};

// An optimizer.
struct Optimizer {
  Json settings;                // all settings that affect its updates
  std::int64_t first_step = 0;  // step number of the first update in the learning rate schedule
  std::function<std::vector<Slot>(const Parameter& parameter)> slots;
  std::function<double(const Parameter& parameter)> weight_decay = {};  // empty: no weight decay
  // Computes an update. The argument `slots` is in the order of the field `slots`; the gradient has
  // the parameter's shape. Layers of a stacked parameter are independent. The returned slots must
  // be results of renewed(); the caller applies renewed() to the returned value.
  std::function<UpdatedParameter(const OptimizerStep& step, const Parameter& parameter,
                                 std::span<const compiler::Tensor> slots,
                                 compiler::Tensor gradient)>
      update;
};

}  // namespace smelt::model
