// A slow, simple interpreter of every primitive, the reference for devices and gradients: it
// computes one result element at a time, and floats always in f64, without rounding to a smaller
// type.
#pragma once

#include "reference/value.h"

namespace smelt::testing {

// Returns the values of `results`, given one value per argument of their graph.
std::vector<Value> interpret(const compiler::Graph& graph,
                             const std::vector<compiler::Tensor>& results,
                             const std::vector<Value>& arguments);

// Computes one op. There is one function per op, found by the op's name.
using Rule = std::vector<Value> (*)(const compiler::Node& node, const std::vector<Value>& inputs);
using Rules = std::vector<std::pair<std::string_view, Rule>>;
Rules elementwise_rules();
Rules movement_rules();
Rules region_rules();  // ops that contain regions, and the random bits

// Returns the op's rule, or null if there is none.
Rule find_rule(std::string_view op_name);

}  // namespace smelt::testing
