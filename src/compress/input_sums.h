// Second moments of the inputs of matmuls over the calibration data, for GPTQ.
//   T tokens without padding   C inputs of a matmul
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compress/row_pass.h"

namespace smelt::compress {

// The second moments of one input.
struct InputSums {
  std::vector<std::string> parameters;  // of the matmuls with this input
  std::vector<double> sums;             // [C,C]: sum of x x' over T rows x
  double rows = 0;                      // T
};

// Computes the sums for each distinct input of the matmuls whose parameters, [C, outputs] each, are
// given. The inputs are those of the original model, before compression. Calls `take` with the sums
// of one input at a time. Passes over the data several times if the sums of all inputs do not fit
// into memory.
void each_input_sums(const model::Task& task, const std::vector<std::string>& parameters,
                     const RowPass& pass, const std::function<void(InputSums sums)>& take);

}  // namespace smelt::compress
