// Computes a training step with the reference interpreter, in f64.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/input_pipeline/batch.h"
#include "model/train_step/program.h"
#include "reference/evaluate.h"

namespace smelt {

// Returns the value of the parameter at an index of the state.
using ParameterValue = std::function<testing::Value(const model::StateTensor& of, std::size_t at)>;

// Returns the results of the first step of a new run. The first moments (of AdamW: the slots whose
// names end with "/adam_m") are a tenth of the gradients.
inline std::vector<testing::Value> step_in_f64(const model::StepProgram& step,
                                               const data::Batch& batch,
                                               const ParameterValue& value) {
  using compiler::DType;
  std::vector<testing::Value> arguments;
  for (const data::HostArray& array : batch.arrays)
    arguments.push_back(testing::from_bytes(array.shape, array.bytes));
  arguments.push_back(testing::integer_value({DType::s32, {}}, {3}));
  arguments.push_back(testing::real_value({DType::f32, {}}, {0.01}));
  arguments.push_back(testing::integer_value({DType::u32, {std::ssize(step.keys)}},
                                             {step.keys.begin(), step.keys.end()}));
  for (std::size_t i = 0; i < step.state.tensors.size(); ++i) {
    const model::StateTensor& tensor = step.state.tensors[i];
    const bool is_parameter = i < step.state.values;
    arguments.push_back(is_parameter ? value(tensor, i) : testing::empty_value(tensor.shape));
    if (is_parameter) continue;
    if (tensor.init.kind != model::Init::constant) throw BugError(tensor.name + " is random");
    std::ranges::fill(arguments.back().real, tensor.init.value);
  }
  return testing::interpret(step.program.graph, step.program.results, arguments);
}

}  // namespace smelt
