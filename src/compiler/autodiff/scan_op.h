// The node behind scan() (compiler/autodiff/scan.h).
#pragma once

#include "compiler/ir/op.h"

namespace smelt {

// Inputs: what is carried, the stacked tensors, what is captured. Results: what is carried at last,
// the outputs stacked, what is saved for the reverse pass stacked.
// Region 0: (index, carried, slices, captured) -> (carried, outputs, saved).
// Region 1, where there is a gradient: (index, cotangents of carried and outputs, saved, slices,
// captured) -> cotangents of the inputs that "gradient_of" counts.
// Attributes: length, carried, stacked, outputs (how many), reverse (1: from the last to the
// first).
extern const Op kScan;

using Tensors = std::vector<Tensor>;
inline void append(Tensors& to, const Tensors& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace smelt
