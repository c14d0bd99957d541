// Builds programs from the examples of an op: one that computes it, and one that computes its
// gradients.
#pragma once

#include <optional>

#include "compiler/ir/op.h"
#include "compiler/stablehlo/writer.h"

namespace smelt::testing {

// Arguments: the example's inputs. Results: those of the example.
compiler::Program example_program(const compiler::OpExample& example);

// Arguments: the example's inputs, then one weight tensor per float result of the example. Results:
// the loss = sum over all float results of result * weight, then d loss / d input for each f64
// input, in order. Returns nullopt if there is no f64 input or no f64 result.
std::optional<compiler::Program> gradient_program(const compiler::OpExample& example);

}  // namespace smelt::testing
