// Root mean squares of a model's parameters.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "execution/train_state/model_state.h"

namespace smelt::execution {

// Returns the root mean square of the values, or 0 if there are none.
template <class Real>
double root_mean_square(std::span<const Real> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

struct ParameterScale {
  std::string name;
  compiler::Dims dims;
  double rms = 0;  // root mean square of its elements
};

// Returns the scales of the layout's parameters, in its order. Each layer of a stack has its own
// entry.
std::vector<ParameterScale> parameter_scales(const model::StateLayout& layout,
                                             const HostState& state);

// Returns the dimensions as a Python tuple: "()", "(768,)", "(768, 3072)".
std::string tuple_text(const compiler::Dims& dims);

// Returns a table with a line per parameter: name, shape, root mean square.
std::string table_of(const std::vector<ParameterScale>& parameters);

}  // namespace smelt::execution
