// The definition of a primitive op. compiler/ops/table.h lists all ops.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt::compiler {

class HloWriter;

// A small program that uses one op. Tests of shapes, emission, values and gradients run it.
struct OpExample {
  struct Input {
    Shape shape;
    // The values, also those of integer inputs, are drawn from [low, high). Choose a range in which
    // the op is differentiable, without kinks and poles.
    double low = -2.0;
    double high = 2.0;
  };
  std::string label;
  std::vector<Input> inputs;
  std::vector<Tensor> (*build)(Graph&, std::span<const Tensor> inputs);
};

// How scan() treats the result of an op if a RematPolicy stores only some values
// (compiler/autodiff/scan.h).
enum class RematClass {
  recomputed,  // recomputed from its operands
  moved,       // only changes layout or type; its operand is stored or recomputed instead
  saved,       // stored because it is expensive: sums, maxima, loops
  matmul,      // stored, unless batched and larger than both operands (attention scores)
};

// One primitive op.
struct Op {
  std::string_view name;  // name in StableHLO
  // Returns the result shapes, or throws UsageError with the op and both shapes. node.results is
  // not set yet.
  std::vector<Shape> (*infer)(const Node& node);
  // Returns one cotangent per input, given one per result (empty: no gradient). Null: the op has no
  // gradient.
  std::vector<Tensor> (*vjp)(const Node& node, std::span<const Tensor> cts);
  // Writes the op as StableHLO.
  void (*emit)(const Node& node, HloWriter& writer);
  // Returns example programs for the tests; null if the op has none.
  std::vector<OpExample> (*examples)();
  RematClass saving = RematClass::recomputed;
};

}  // namespace smelt::compiler
