// Values of a small graph by the naive interpreter, for the tests of what is composed of
// primitives.
#pragma once

#include <vector>

#include "reference/interpreter.h"

namespace smelt::testing {

// A float argument with its values.
inline Value real_value(compiler::Shape shape, std::vector<double> values) {
  return {.shape = std::move(shape), .real = std::move(values), .bits = {}};
}
inline Value integer_value(compiler::Shape shape, std::vector<std::uint64_t> values) {
  return {.shape = std::move(shape), .real = {}, .bits = std::move(values)};
}

// The floats of one result.
inline std::vector<double> evaluate(compiler::Tensor result, const std::vector<Value>& arguments) {
  return interpret(result.graph(), {result}, arguments).front().real;
}

}  // namespace smelt::testing
