// How large a model's parameters have become.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "execution/train_state/model_state.h"

namespace smelt {

// 0 of nothing.
template <class Real>
double root_mean_square(std::span<const Real> values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

struct ParameterScale {
  std::string name;
  Dims dims;
  double rms = 0;  // root of the mean of its squared elements
};

// The scales of the layout's values, in its order, each layer of a stack by itself.
std::vector<ParameterScale> parameter_scales(const StateLayout& layout, const HostState& state);

// As Python writes it: "()", "(768,)", "(768, 3072)".
std::string tuple_text(const Dims& dims);

// A line for each: name, shape, root mean square.
std::string table_of(const std::vector<ParameterScale>& parameters);

}  // namespace smelt
