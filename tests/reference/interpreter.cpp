#include "reference/interpreter.h"

#include <map>
#include <unordered_map>

#include "base/error.h"

namespace smelt::testing {

using compiler::Graph;
using compiler::Node;
using compiler::reachable;
using compiler::Tensor;

Rule find_rule(std::string_view op_name) {
  static const std::map<std::string_view, Rule> all = [] {
    std::map<std::string_view, Rule> rules;
    for (const Rules& some : {elementwise_rules(), movement_rules(), region_rules()})
      rules.insert(some.begin(), some.end());
    return rules;
  }();
  const auto found = all.find(op_name);
  return found == all.end() ? nullptr : found->second;
}

std::vector<Value> interpret(const Graph& graph, const std::vector<Tensor>& results,
                             const std::vector<Value>& arguments) {
  CHECK(arguments.size() == graph.arguments().size());
  std::unordered_map<Tensor, Value> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    CHECK(arguments[i].shape == graph.arguments()[i].shape());
    values[graph.arguments()[i]] = arguments[i];
  }
  for (const Node* node : reachable(results)) {
    if (values.contains(Tensor(node, 0))) continue;  // an argument
    std::vector<Value> inputs;
    for (const Tensor& input : node->inputs) inputs.push_back(values.at(input));
    const Rule rule = find_rule(node->op->name);
    CHECK(rule != nullptr, "the interpreter has no rule for ", node->op->name);
    std::vector<Value> outputs = rule(*node, inputs);
    CHECK(outputs.size() == node->results.size(), node->op->name);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      CHECK(outputs[i].shape == node->results[i], node->op->name, ": computed ", outputs[i].shape,
            ", inferred ", node->results[i]);
      values[Tensor(node, static_cast<int>(i))] = std::move(outputs[i]);
    }
  }
  std::vector<Value> out;
  for (const Tensor& t : results) out.push_back(values.at(t));
  return out;
}

}  // namespace smelt::testing
