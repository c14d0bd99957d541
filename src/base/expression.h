// Expressions over a parameter's shape, as JEstimator's amos_helper.py evaluates them:
//   sqrt(2 / SHAPE[-1])        (1, SHAPE[-1])        1 / prod(SHAPE[:-1])
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace smelt {

using Sizes = std::vector<std::int64_t>;  // dimensions of a shape
// The value of an expression: a number or a tuple.
using RuleValue = std::variant<double, std::vector<double>>;
std::string value_text(const RuleValue& value);

// A parsed expression with Python's syntax and precedence: numbers, SHAPE, indices and slices of
// tuples, + - * / // % **, unary minus, parentheses, tuples (+ concatenates them), the functions
// sqrt exp log log2 log10 pow floor ceil abs fabs of numbers, and prod sum min max mean of a tuple.
// All numbers are f64.
class Expression {
 public:
  // Throws UsageError, whose message begins with `where`, for a syntax error or an unknown name.
  Expression(std::string_view where, std::string_view text);
  // Evaluates the expression. Throws UsageError for an index out of range, an operand of the wrong
  // type or a result that is not finite.
  RuleValue operator()(const Sizes& shape) const { return term_(shape); }

 private:
  std::function<RuleValue(const Sizes& shape)> term_;
};

}  // namespace smelt
