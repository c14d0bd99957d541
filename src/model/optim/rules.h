// NameRules by parameter: a regular expression of names and what it gives, as JEstimator's Amos
// takes eta and the shape of slots.
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

namespace smelt {

struct NameRule {
  std::string pattern, expression;
};

// "pattern = expression" a line; ';' ends one, too. The last '=' divides, so that a pattern may
// hold one. UsageError beginning with `where` for a line without, or
// for a rule of more than 4096 bytes.
std::vector<NameRule> parse_rules(std::string_view where, std::string_view text);

// Patterns are ECMAScript's (std::regex), matched from the beginning of a name, not to its end, as
// Python's re.match does; what Python has and ECMAScript not: lookbehind, named groups, inline
// flags, \A and \Z.
class NameRules {
 public:
  NameRules() = default;
  // UsageError beginning with `where` for a pattern or an expression that cannot be read.
  NameRules(std::string where, const std::vector<NameRule>& rules);

  // What the first rule that matches gives for a parameter. UsageError when none does, or for the
  // expression's own reasons.
  RuleValue of(const std::string& name, const Dims& dims) const;
  // The same; nullopt when none matches.
  std::optional<RuleValue> find(const std::string& name, const Dims& dims) const;

  // UsageError, with the nearest name, when a pattern matches none of the names.
  void check_used(std::span<const std::string> names) const;

  // Begins messages: the field that holds the rules.
  const std::string& where() const { return where_; }
  bool empty() const { return entries_.empty(); }
  // As they were given, in order.
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

// A constant that broadcasts over the parameter: one number, or one for each of its layers.
Tensor by_layer(const Parameter& parameter, const std::vector<double>& values);

}  // namespace smelt
