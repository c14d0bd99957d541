// Evaluates a small graph with the reference interpreter, for tests of functions that are composed
// of primitives.
#pragma once

#include <vector>

#include "reference/interpreter.h"

namespace smelt::testing {

// Returns a float argument with these values.
inline Value real_value(compiler::Shape shape, std::vector<double> values) {
  return {.shape = std::move(shape), .real = std::move(values), .bits = {}};
}
inline Value integer_value(compiler::Shape shape, std::vector<std::uint64_t> values) {
  return {.shape = std::move(shape), .real = {}, .bits = std::move(values)};
}

// Returns the floats of one result.
inline std::vector<double> evaluate(compiler::Tensor result, const std::vector<Value>& arguments) {
  return interpret(result.graph(), {result}, arguments).front().real;
}

}  // namespace smelt::testing
