#include "model/optim/rules.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/nearest_name.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::constant;
using compiler::Dims;
using compiler::dims_text;
using compiler::DType;
using compiler::Graph;
using compiler::Tensor;
namespace {

constexpr std::size_t kMaxRuleBytes = 4096;  // parsing is recursive and uses stack

std::regex compiled(const std::string& where, const std::string& pattern) {
  try {
    return std::regex(pattern);
  } catch (const std::regex_error& error) {
    throw UsageError(
        str(where, ": '", pattern, "' is not a valid regular expression: ", error.what()),
        "correct it; '.*/kernel' matches every name that contains /kernel");
  }
}

// Matches like Python's re.match.
bool begins_with(const std::string& name, const std::regex& pattern) {
  return std::regex_search(name, pattern, std::regex_constants::match_continuous);
}

// Returns the pattern without its wildcards.
std::string plain_text(const std::string& pattern) {
  std::string out = pattern;
  for (std::size_t at = 0; (at = out.find(".*")) != out.npos;) out.erase(at, 2);
  const auto begin = out.find_first_not_of("^/"), end = out.find_last_not_of("$/");
  return begin == out.npos ? "" : out.substr(begin, end + 1 - begin);
}

// Returns the parts of all names, as candidates for "did you mean" hints: a, b, c, a/b and a/b/c
// for the name "a/b/c".
std::vector<std::string> words_in(std::span<const std::string> names) {
  std::set<std::string> out;
  for (const std::string& name : names) {
    for (const std::string_view word : split(name, '/')) out.emplace(word);
    for (std::size_t at = name.find('/'); at != name.npos; at = name.find('/', at + 1))
      out.insert(name.substr(0, at));
    out.insert(name);
  }
  return {out.begin(), out.end()};
}

}  // namespace

std::vector<NameRule> parse_rules(std::string_view where, std::string_view text) {
  std::vector<NameRule> out;
  for (const std::string_view line : split(text, '\n'))
    for (const std::string_view item : split(line, ';')) {
      const std::string_view rule = trim(item);
      if (rule.empty()) continue;
      if (rule.size() > kMaxRuleBytes)
        throw UsageError(str(where, ": a rule has ", rule.size(), " bytes, the maximum is ",
                             kMaxRuleBytes, "; it begins with '", rule.substr(0, 40), "'"),
                         "shorten it, or split it into several rules");
      const auto equals = rule.rfind('=');
      if (equals == std::string_view::npos)
        throw UsageError(str(where, ": '", rule, "' has no '='"),
                         "write a rule such as .*/kernel = sqrt(1 / SHAPE[0])");
      out.push_back({.pattern = std::string(trim(rule.substr(0, equals))),
                     .expression = std::string(trim(rule.substr(equals + 1)))});
    }
  return out;
}

NameRules::NameRules(std::string where, const std::vector<NameRule>& rules)
    : where_(std::move(where)) {
  for (const NameRule& rule : rules)
    entries_.push_back({rule, compiled(where_, rule.pattern), Expression(where_, rule.expression)});
}

std::optional<RuleValue> NameRules::find(const std::string& name, const Dims& dims) const {
  for (const Entry& entry : entries_)
    if (begins_with(name, entry.pattern)) return entry.expression(dims);
  return std::nullopt;
}

void NameRules::check_used(std::span<const std::string> names) const {
  for (const Entry& entry : entries_) {
    if (std::ranges::any_of(names,
                            [&](const auto& name) { return begins_with(name, entry.pattern); }))
      continue;
    const auto nearest = nearest_name(plain_text(entry.text.pattern), words_in(names));
    throw UsageError(str(where_, ": '", entry.text.pattern, "' matches none of the ", names.size(),
                         " parameters"),
                     nearest ? str("did you mean '", *nearest, "'?")
                             : str("use names such as ", names.empty() ? "" : names.front()));
  }
}

RuleValue NameRules::of(const std::string& name, const Dims& dims) const {
  if (auto value = find(name, dims)) return *std::move(value);
  throw UsageError(
      str(where_, ": no rule matches the parameter ", name, " of shape ", dims_text(dims)),
      "add a rule for it, or end with a rule .* = …");
}

Json NameRules::settings() const {
  Json out = Json::array();
  for (const Entry& entry : entries_)
    out.push_back(str(entry.text.pattern, " = ", entry.text.expression));
  return out;
}

Tensor by_layer(const Parameter& p, const std::vector<double>& values) {
  Graph& graph = p.tensor.graph();
  const DType dtype = p.tensor.dtype();
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); }))
    return constant(graph, values.front(), dtype);
  Dims dims(p.tensor.dims().size(), 1);
  dims[0] = p.layers;
  return constant(graph, values, {dtype, dims});
}

}  // namespace smelt::model
