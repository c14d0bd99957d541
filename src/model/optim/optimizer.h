// What an optimizer is to the training program: slots by parameter, and one rule.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/nn/scope.h"

namespace smelt {

// What is kept from step to step beside a parameter, f32; of any shape. Of a stacked parameter
// each layer has one, and they are stacked like it.
struct Slot {
  std::string name;  // "adam_m": the checkpoint's name is "<parameter>/adam_m"
  Dims dims;         // of one layer's
  double start = 0;
};

struct OptimizerStep {
  Tensor rate;  // f32, broadcasts over the parameter
  Tensor step;  // s32 scalar: steps done before this one
  bool sums_in_slices =
      false;                 // long sums may be cut: on a CPU, where nothing is split over a mesh
  Tensor apply = {};         // pred scalar: where false nothing changes; empty: it is true
  Tensor weight_decay = {};  // broadcasts, too; empty: as the optimizer's settings say
};

// `after`, or `before` where the step is not applied. What is made of a slot is made of this: else
// its old and its new value would be needed side by side, and the old one copied.
Tensor renewed(const OptimizerStep& step, Tensor before, Tensor after);

struct UpdatedParameter {
  Tensor value;
  std::vector<Tensor> slots;
};

struct Optimizer {
  Json settings;                // whatever its updates depend on
  std::int64_t first_step = 0;  // the first that the schedule is asked for
  std::function<std::vector<Slot>(const Parameter& parameter)> slots;
  std::function<double(const Parameter& parameter)> weight_decay = {};  // empty: takes none
  // `slots` as above, in that order; the gradient has the parameter's shape. Layers of a stacked
  // parameter know nothing of each other. Slots come renewed(); the value is left to the program.
  std::function<UpdatedParameter(const OptimizerStep& step, const Parameter& parameter,
                                 std::span<const Tensor> slots, Tensor gradient)>
      update;
};

}  // namespace smelt
