// What an optimizer is to the training program: slots by parameter, and one rule.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace smelt {

// What is kept from step to step beside a parameter, f32; of any shape.
struct Slot {
  std::string name;  // "adam_m": the checkpoint's name is "<parameter>/adam_m"
  Dims dims;
  double start = 0;
};

// The same for all parameters of a step; scalars.
struct OptimizerStep {
  Tensor rate;  // f32
  Tensor step;  // s32: steps done before this one
};

struct UpdatedParameter {
  Tensor value;
  std::vector<Tensor> slots;
};

struct Optimizer {
  nlohmann::json settings;  // whatever its updates depend on
  std::function<std::vector<Slot>(const std::string& name, const Dims& dims)> slots;
  // `slots` as above, in that order; the gradient has the value's shape.
  std::function<UpdatedParameter(const OptimizerStep& step, const std::string& name, Tensor value,
                                 std::span<const Tensor> slots, Tensor gradient)>
      update;
};

}  // namespace smelt
