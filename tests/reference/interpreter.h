// The slow, obvious meaning of every primitive: one result element at a time, floats in f64
// throughout (no rounding to a smaller type). The twin that devices and gradients are compared
// with.
#pragma once

#include "reference/value.h"

namespace smelt::testing {

// The values of `results`, given one value per argument of their graph.
std::vector<Value> interpret(const compiler::Graph& graph,
                             const std::vector<compiler::Tensor>& results,
                             const std::vector<Value>& arguments);

// How the interpreter computes one op; one function per op, by the op's name.
using Rule = std::vector<Value> (*)(const compiler::Node& node, const std::vector<Value>& inputs);
using Rules = std::vector<std::pair<std::string_view, Rule>>;
Rules elementwise_rules();
Rules movement_rules();
Rules region_rules();  // ops that carry regions, and the random bits

// The name's rule; null when there is none.
Rule find_rule(std::string_view op_name);

}  // namespace smelt::testing
