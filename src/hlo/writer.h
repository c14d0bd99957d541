// Graph -> StableHLO text (https://openxla.org/stablehlo/spec), generic form. The same graph gives the
// same text byte for byte.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace smelt {

// "tensor<8x128xf32>"
std::string hlo_type(const Shape& shape);
// "array<i64: 0, 1>"
std::string hlo_dims(const Dims& dims);

// What Op::emit writes to: the lines of one function, with names for values.
class HloWriter {
 public:
  std::string name(Tensor t) const;                        // "%12" or "%12#1"
  void alias(Tensor result, Tensor input);                 // the op is nothing but a new name
  // %r = "op"(inputs) <{attrs}> ({regions}) : (types) -> types, with the node's inputs, regions, results.
  void generic(const Node& node, std::string_view op, std::string_view attrs = {});
  // A whole statement in another form: `%r = <text>`; `$0`… are not expanded: use name().
  void statement(const Node& node, std::string_view text);
  // Emits `results` of a region or function body up to and including its terminator.
  void body(const Graph& graph, const std::vector<Tensor>& results, std::string_view terminator);
  // Names for the parameters of a graph: "%arg0" … in functions, block arguments in regions.
  std::string bind_parameters(const Graph& graph, std::string_view prefix);

  std::string take() { return std::move(text_); }
  void line(std::string_view text);
  void indent(int by) { depth_ += by; }

 private:
  std::string text_;
  std::unordered_map<Tensor, std::string> names_;
  std::int64_t next_ = 0;
  int depth_ = 1;
};

// How a value is laid over the devices, by Shardy. `axes[i]` names the mesh axis that splits dimension i
// ("" = not split); an empty list = replicated.
struct Sharding {
  std::vector<std::string> axes;
  bool operator==(const Sharding&) const = default;
};

// One program: `results` of `graph`, whose parameters are the arguments.
struct Program {
  Graph graph;
  std::vector<Tensor> results;
  // Result i reuses the memory of argument donated_by[i]; -1 = none. Empty = no donation at all.
  std::vector<std::int64_t> donated_by;
  // Mesh axes in order, e.g. {{"data", 8}}; empty = no sharding attributes are written.
  std::vector<std::pair<std::string, std::int64_t>> mesh;
  std::vector<Sharding> argument_sharding;  // empty or one per argument
  std::vector<Sharding> result_sharding;    // empty or one per result
};

// The module with one public function @main. UsageError when a donated pair differs in shape.
std::string emit_module(const Program& program, std::string_view module_name);

}  // namespace smelt
