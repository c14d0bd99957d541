// What products are given, as the sums of its squares: what codes of their matrices are chosen by.
//   T tokens that are no padding   C inputs of a product
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt {

struct InputSums {
  std::vector<std::string> parameters;  // of the products that take these inputs
  std::vector<double> sums;             // [C,C]: sum x x' of their T rows x
  double rows = 0;                      // T
};

// Those of each input that the products of these parameters, [C, outputs] each, take, one input
// after another; as many at a time as fit into memory, each time by a pass over all rows. Each
// product's are the whole model's own.
void each_input_sums(const Task& task, const std::vector<std::string>& parameters,
                     const RowPass& pass, const std::function<void(InputSums sums)>& take);

}  // namespace smelt
