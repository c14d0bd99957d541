// Everything the program knows about one primitive, in one value. The list of all is
// compiler/ops/all.h.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

class HloWriter;

// A small program around one op; it drives the tests of shape, emission, value and gradient.
struct OpExample {
  struct Input {
    Shape shape;
    // Values are drawn from [low, high); integers too. Chosen away from kinks and poles.
    double low = -2.0;
    double high = 2.0;
  };
  std::string label;
  std::vector<Input> inputs;
  std::vector<Tensor> (*build)(Graph&, std::span<const Tensor> inputs);
};

// How a loop that saves little for its reverse pass has the op's result there
// (compiler/autodiff/scan.h).
enum class RematClass {
  made_again,  // made again from its operands
  moved,       // its operand in another layout or type: as that is had
  saved,       // is costly to make: sums, maxima, loops
  product,     // saved, but not where it is larger than both factors, as scores are
};

struct Op {
  std::string_view name;  // StableHLO's word
  // Result shapes; throws UsageError naming the op and both shapes. node.results is not set yet.
  std::vector<Shape> (*infer)(const Node& node);
  // One cotangent per input from one per result (empty: none flows). Null: the op has no gradient.
  std::vector<Tensor> (*vjp)(const Node& node, std::span<const Tensor> cts);
  void (*emit)(const Node& node, HloWriter& writer);
  std::vector<OpExample> (*examples)();
  RematClass saving = RematClass::made_again;
};

}  // namespace smelt
