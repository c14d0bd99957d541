// Rules that give a parameter a value, such as a learning rate factor. A rule consists of a regular
// expression for parameter names and an expression for the value, as in JEstimator's Amos.
#pragma once

#include <optional>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/expression.h"
#include "base/json.h"
#include "model/nn/scope.h"

namespace smelt::model {

// One rule as text.
struct NameRule {
  std::string pattern, expression;
};

// Parses rules "pattern = expression", separated by newlines or ';'. The last '=' separates the
// parts, so that patterns may contain one. Throws UsageError that begins with `where` if a rule has
// no '=' or more than 4096 bytes.
std::vector<NameRule> parse_rules(std::string_view where, std::string_view text);

// An ordered list of rules. Patterns are ECMAScript regular expressions (std::regex) that must
// match at the beginning of a name, like Python's re.match. Unlike Python, ECMAScript has no
// lookbehind, named groups, inline flags, \A or \Z.
class NameRules {
 public:
  NameRules() = default;
  // Throws UsageError that begins with `where` if a pattern or an expression is invalid.
  NameRules(std::string where, const std::vector<NameRule>& rules);

  // Returns the value of the first matching rule for a parameter. Throws UsageError if no rule
  // matches or the expression fails.
  RuleValue of(const std::string& name, const compiler::Dims& dims) const;
  // Like of(), but returns nullopt if no rule matches.
  std::optional<RuleValue> find(const std::string& name, const compiler::Dims& dims) const;

  // Throws UsageError, with the nearest name as hint, if a pattern matches no name.
  void check_used(std::span<const std::string> names) const;

  // The field that holds the rules, for error messages.
  const std::string& where() const { return where_; }
  bool empty() const { return entries_.empty(); }
  // Returns the rules as text, in order.
  Json settings() const;

 private:
  struct Entry {
    NameRule text;
    std::regex pattern;
    Expression expression;
  };
  std::string where_;
  std::vector<Entry> entries_;
};

// Returns a constant that broadcasts over the parameter: one value, or one per layer.
compiler::Tensor by_layer(const Parameter& parameter, const std::vector<double>& values);

}  // namespace smelt::model
