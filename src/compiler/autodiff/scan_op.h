// The op behind scan() (compiler/autodiff/scan.h).
#pragma once

#include "compiler/ir/op.h"

namespace smelt::compiler {

// A loop over slices.
// Inputs: initial carry, stacked tensors, captured tensors.
// Results: final carry, stacked outputs, stacked values stored for the reverse pass.
// Region 0: (index, carry, slices, captured) -> (carry, outputs, stored values).
// Region 1, if the scan has a gradient: (index, cotangents of the carry and outputs, stored values,
// slices, captured) -> cotangents of the inputs listed in "gradient_of".
// Attributes: length; carried, stacked, outputs (counts); reverse (1: runs from the last slice to
// the first); gradient_of (indices of inputs).
extern const Op kScan;

using Tensors = std::vector<Tensor>;
// Appends `more` to `to`.
inline void append(Tensors& to, const Tensors& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace smelt::compiler
