// How large a model's parameters have become.
#pragma once

#include <string>
#include <vector>

#include "train/model_state.h"

namespace smelt {

struct ParameterScale {
  std::string name;
  Dims dims;
  double rms = 0;  // root of the mean of its squared elements
};

// Of the layout's values, in its order, each layer of a stack by itself.
std::vector<ParameterScale> parameter_scales(const StateLayout& layout, const HostState& state);

// As Python writes it: "()", "(768,)", "(768, 3072)".
std::string tuple_text(const Dims& dims);

// A line for each: name, shape, root mean square.
std::string table_of(const std::vector<ParameterScale>& parameters);

}  // namespace smelt
